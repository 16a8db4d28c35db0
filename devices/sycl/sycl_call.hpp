#pragma once

#include <string>
#include <string_view>
#include <sycl/sycl.hpp>
#include <type_traits>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti::sycl_device {

inline void report_call(std::string_view function, std::int64_t error, std::uint64_t begin) noexcept {
  if (Observer* target = observer()) {
    target->on(HostCall{spi::current_operation(), "sycl", function, error, begin, observer_time_ns()});
  }
}

/// Every call into the runtime goes through this function: it reports the call to the observer and turns the runtime's
/// exception into Error{backend_failure}. `function` is the name in the specification; static storage.
template <typename Body>
std::invoke_result_t<Body> call(std::string_view function, const Body& body) {
  const std::uint64_t begin = observer() == nullptr ? 0 : observer_time_ns();
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      report_call(function, 0, begin);
    } else {
      auto result = body();
      report_call(function, 0, begin);
      return result;
    }
  } catch (const ::sycl::exception& error) {
    report_call(function, error.code().value(), begin);
    throw Error(ErrorCode::backend_failure, "sycl::" + std::string(function) + ": " + error.what(), "sycl",
                error.code().value());
  }
}

}  // namespace tutti::sycl_device
