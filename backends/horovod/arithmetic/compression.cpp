#include "arithmetic/compression.hpp"

#include <algorithm>
#include <array>

#include "arithmetic/round_to_odd.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::horovod {
namespace {

// Elements that are converted at a time by way of float32; they stay in the first-level cache.
constexpr std::size_t kPiece = 1024;
using Piece = std::array<float, kPiece>;

const std::byte* at(const void* data, std::size_t index, DataType type) noexcept {
  return static_cast<const std::byte*>(data) + index * size_of(type);
}

std::byte* at(void* data, std::size_t index, DataType type) noexcept {
  return static_cast<std::byte*>(data) + index * size_of(type);
}

}  // namespace

void compress(void* wire, DataType wire_type, const void* tensor, DataType type, std::size_t count) noexcept {
  if (wire_type == type) return spi::copy(wire, tensor, count * size_of(type), false);
  if (type == DataType::float32) return spi::convert(wire, wire_type, tensor, type, count);
  Piece piece;
  const auto* from = static_cast<const double*>(tensor);
  for (std::size_t done = 0; done < count; done += kPiece) {
    const std::size_t now = std::min(kPiece, count - done);
    std::transform(from + done, from + done + now, piece.begin(), round_to_odd);
    spi::convert(at(wire, done, wire_type), wire_type, piece.data(), DataType::float32, now);
  }
}

void decompress(void* tensor, DataType type, const void* wire, DataType wire_type, std::size_t count) noexcept {
  if (wire_type == type) return spi::copy(tensor, wire, count * size_of(type), false);
  if (type == DataType::float32) return spi::convert(tensor, type, wire, wire_type, count);
  Piece piece;
  auto* to = static_cast<double*>(tensor);
  for (std::size_t done = 0; done < count; done += kPiece) {
    const std::size_t now = std::min(kPiece, count - done);
    spi::convert(piece.data(), DataType::float32, at(wire, done, wire_type), wire_type, now);
    std::copy_n(piece.begin(), now, to + done);
  }
}

}  // namespace tutti::horovod
