#pragma once

#include <cstddef>

#include "tutti/horovod.hpp"
#include "tutti/types/data_type.hpp"

namespace tutti::horovod {

/// The type that travels: that of the compression for float32 and float64, otherwise the tensor's own. Upstream also
/// passes on integers and types of two bytes as they are.
[[nodiscard]] constexpr DataType wire_type(DataType type, Compression compression) noexcept {
  const bool shrinks = type == DataType::float32 || type == DataType::float64;
  if (compression == Compression::none || !shrinks) return type;
  return compression == Compression::float16 ? DataType::float16 : DataType::bfloat16;
}

/// Converts `count` elements between a tensor and the wire, or copies them if both types are equal. One of the types is
/// float32 or float64, the other float16 or bfloat16. Rounds once, to nearest with ties to even, also from float64; too
/// large values become infinite. The buffers are disjoint. Allocates nothing.
void compress(void* wire, DataType wire_type, const void* tensor, DataType type, std::size_t count) noexcept;
void decompress(void* tensor, DataType type, const void* wire, DataType wire_type, std::size_t count) noexcept;

}  // namespace tutti::horovod
