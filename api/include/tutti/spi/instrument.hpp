#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tutti/export.hpp"
#include "tutti/observer.hpp"

/// Reports from backends and devices to the observer; each costs one pointer test if there is no observer.
namespace tutti::spi {

/// The operation that this thread is carrying out; 0 if there is none or no observer.
[[nodiscard]] TUTTI_API OperationId current_operation() noexcept;

/// Marks an operation as the cause of this thread's reports while the object exists.
class TUTTI_API OperationScope {
 public:
  explicit OperationScope(OperationId id) noexcept;
  ~OperationScope();
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;

 private:
  OperationId previous_;
};

/// Whether the result of a vendor's function is a code with 0 for success. Specialised as false for types that are an
/// answer instead.
template <typename Result>
inline constexpr bool is_result_code = std::is_arithmetic_v<Result> || std::is_enum_v<Result>;

/// A function of a vendor library: calls it and, if there is an observer, reports the call with its result code. The
/// names have static storage.
template <typename Function>
class VendorFunction;

template <typename Result, typename... Arguments>
class VendorFunction<Result (*)(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  constexpr VendorFunction() noexcept = default;
  constexpr VendorFunction(std::string_view library, std::string_view function) noexcept
      : library_(library), name_(function) {}

  void set(Pointer function) noexcept { function_ = function; }
  [[nodiscard]] explicit operator bool() const noexcept { return function_ != nullptr; }
  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  Result operator()(Arguments... arguments) const {
    if (observer() == nullptr) [[likely]]
      return function_(arguments...);
    return observed(arguments...);
  }

 private:
  [[gnu::noinline]] Result observed(Arguments... arguments) const {
    const std::uint64_t begin = observer_time_ns();
    if constexpr (std::is_void_v<Result>) {
      function_(arguments...);
      report(begin, 0);
    } else {
      const Result result = function_(arguments...);
      if constexpr (is_result_code<Result>) {
        report(begin, static_cast<std::int64_t>(result));
      } else {
        report(begin, 0);
      }
      return result;
    }
  }
  void report(std::uint64_t begin, std::int64_t error) const noexcept {
    if (Observer* target = observer()) {
      target->on(HostCall{current_operation(), library_, name_, error, begin, observer_time_ns()});
    }
  }

  Pointer function_ = nullptr;
  std::string_view library_;
  std::string_view name_;
};

/// Reports an allocation or a release of memory.
inline void report_allocation(std::string_view owner, const void* pointer, std::uint64_t bytes,
                              Memory where = {}) noexcept {
  if (Observer* target = observer()) {
    target->on(Allocation{current_operation(), owner, pointer, bytes, where, observer_time_ns()});
  }
}
inline void report_free(std::string_view owner, const void* pointer, std::uint64_t bytes, Memory where = {}) noexcept {
  if (Observer* target = observer()) {
    target->on(Free{current_operation(), owner, pointer, bytes, where, observer_time_ns()});
  }
}

}  // namespace tutti::spi
