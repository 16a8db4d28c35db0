#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "ccl_api.hpp"
#include "tutti/error.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

/// Translation of types, reductions and errors between tutti and oneCCL's C++ interface. The numbers are those of
/// oneapi/ccl/types.hpp, the same in all versions; ccl_bridge.cpp checks them.
namespace tutti::ccl {

/// ccl::datatype, indexed by DataType. oneCCL has no 8-bit floats.
inline constexpr std::array<int, kDataTypeCount> kTypes = {
    0,   // int8
    2,   // int16
    4,   // int32
    6,   // int64
    1,   // uint8
    3,   // uint16
    5,   // uint32
    7,   // uint64
    8,   // float16
    11,  // bfloat16
    9,   // float32
    10,  // float64
    1,   // float8_e4m3, moved as bytes
    1,   // float8_e5m2
};

[[nodiscard]] constexpr int datatype(DataType type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }

/// ccl::reduction; -1 for reductions that oneCCL lacks, or has on some of its paths only.
[[nodiscard]] constexpr int reduction(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::sum:
      return 0;
    case Reduction::product:
      return 1;
    case Reduction::min:
      return 2;
    case Reduction::max:
      return 3;
    default:
      return -1;
  }
}

/// The same for a reduction that oneCCL has: it numbers them as tutti does, so that no test is needed.
[[nodiscard]] constexpr int known_reduction(Reduction known) noexcept { return static_cast<int>(known); }
static_assert(reduction(Reduction::sum) == known_reduction(Reduction::sum) &&
              reduction(Reduction::product) == known_reduction(Reduction::product) &&
              reduction(Reduction::min) == known_reduction(Reduction::min) &&
              reduction(Reduction::max) == known_reduction(Reduction::max));

/// The code of an error with which oneCCL failed: memory that is missing is missing to the process.
[[nodiscard]] inline ErrorCode code_of(std::string_view error_text) noexcept {
  return error_text.find("std::bad_alloc") == std::string_view::npos ? ErrorCode::backend_failure : ErrorCode::system;
}

/// Throws Error{backend_failure}, or what code_of() has, with oneCCL's error text unless `code` is 0. `what` names the
/// step that failed.
inline void check(const Api& api, int code, const std::string& what) {
  if (code != 0) [[unlikely]]
    throw Error(code_of(api.error()), what + " (ccl): " + api.error(), "ccl", code);
}

}  // namespace tutti::ccl
