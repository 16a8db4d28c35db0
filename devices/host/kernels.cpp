#include "tutti/spi/kernels.hpp"

#include <cassert>
#include <cstring>

#include "kernel_table.hpp"

namespace tutti::spi {
namespace {

const host::KernelTable& kernels() noexcept {
  static const host::KernelTable table = host::best_kernels();
  return table;
}

// Below this length memcpy is faster than tutti's copy: it is made for short lengths, and does not yet use the string
// instructions, which drop to a tenth of the speed at some page offsets of source and destination.
constexpr std::size_t kSmallestCopy = 2048;

constexpr std::size_t index(DataType type) noexcept { return static_cast<std::size_t>(type); }

}  // namespace

ReduceKernel reduce_kernel(Reduction reduction, DataType type) noexcept { return kernels().at(reduction, type); }

void scale(void* data, std::size_t count, DataType type, double factor, std::uint64_t divisor) noexcept {
  assert(divisor != 0 && (is_floating(type) || factor == 1.0));
  if (count == 0 || (factor == 1.0 && divisor == 1)) return;
  kernels().scale[index(type)](data, count, factor, divisor);
}

void convert(void* to, DataType to_type, const void* from, DataType from_type, std::size_t count) noexcept {
  if (count == 0) return;
  const auto kernel =
      to_type == DataType::float32 ? kernels().widen[index(from_type)] : kernels().narrow[index(to_type)];
  assert(kernel != nullptr && (to_type == DataType::float32 || from_type == DataType::float32));
  kernel(to, from, count);
}

void copy(void* to, const void* from, std::size_t bytes, bool streaming) noexcept {
  if (bytes == 0 || to == from) return;
  if (streaming) {
    kernels().stream_copy(to, from, bytes);
  } else if (bytes < kSmallestCopy) {
    std::memcpy(to, from, bytes);
  } else {
    kernels().copy(to, from, bytes);
  }
}

std::string_view kernel_target() noexcept { return kernels().target; }

}  // namespace tutti::spi
