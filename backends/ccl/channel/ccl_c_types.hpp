#pragma once

#include <optional>

#include "tutti/spi/capabilities.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

/// Translation of types and reductions for oneCCL's C interface. The numbers are those of oneapi/ccl/v2/types.h;
/// ccl_c_check.cpp checks them.
namespace tutti::ccl {

/// onecclDataType_t for reductions; nothing for 16-bit integers, which the interface lacks.
[[nodiscard]] constexpr std::optional<int> c_datatype(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
      return 0;
    case DataType::uint8:
      return 1;
    case DataType::int32:
      return 2;
    case DataType::uint32:
      return 3;
    case DataType::int64:
      return 4;
    case DataType::uint64:
      return 5;
    case DataType::float16:
      return 6;
    case DataType::float32:
      return 7;
    case DataType::float64:
      return 8;
    case DataType::bfloat16:
      return 9;
    default:
      return std::nullopt;
  }
}

/// onecclRedOp_t; nothing for reductions that the plug-in for the CPU lacks. That plug-in throws at the average.
[[nodiscard]] constexpr std::optional<int> c_reduction(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::sum:
      return 0;
    case Reduction::product:
      return 1;
    case Reduction::max:
      return 2;
    case Reduction::min:
      return 3;
    default:
      return std::nullopt;
  }
}

/// Operations, types and reductions that oneCCL's C interface supports: on host memory, and neither the vector forms
/// nor gather, scatter and barrier.
[[nodiscard]] constexpr spi::Capabilities c_capabilities() noexcept {
  spi::Capabilities result;
  for (const OpKind kind : {OpKind::allreduce, OpKind::allgather, OpKind::reduce_scatter, OpKind::broadcast,
                            OpKind::reduce, OpKind::alltoall}) {
    result.add(kind);
  }
  for (const OpKind kind : {OpKind::send, OpKind::recv}) result.add_built(kind);
  for (const DataType type : kDataTypes) {
    result.add(type);
    for (const Reduction reduction : kReductions) {
      if (c_datatype(type) && c_reduction(reduction) && is_defined(reduction, type)) result.add(reduction, type);
    }
  }
  return result;
}

}  // namespace tutti::ccl
