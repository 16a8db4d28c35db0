#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sources/common/handle_library.hpp"

/// NCCL's types as its functions pass them; the source needs no header of NCCL.
namespace tutti::profiling::nccl {

using Result = int;
using Comm = void*;
using Stream = void*;
using DataType = int;
using RedOp = int;
struct UniqueId {
  char internal[128];
};

inline constexpr Result kInvalidUsage = 5;

/// ncclDataType_t; oneCCL's C interface has the same numbers up to bfloat16.
[[nodiscard]] inline NumberedType type_of(DataType number) noexcept {
  constexpr std::array<NumberedType, 12> kTypes = {{{"int8", 1},
                                                    {"uint8", 1},
                                                    {"int32", 4},
                                                    {"uint32", 4},
                                                    {"int64", 8},
                                                    {"uint64", 8},
                                                    {"float16", 2},
                                                    {"float32", 4},
                                                    {"float64", 8},
                                                    {"bfloat16", 2},
                                                    {"float8_e4m3", 1},
                                                    {"float8_e5m2", 1}}};
  const auto index = static_cast<std::size_t>(number);
  return index < kTypes.size() ? kTypes[index] : NumberedType{"unknown", 0};
}

}  // namespace tutti::profiling::nccl
