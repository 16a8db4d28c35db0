#include "buffers/place.hpp"

#include <cstring>

#include "tutti/spi/kernels.hpp"

namespace tutti::horovod {

std::byte* HostPlace::grown(SharedArray<std::byte>& memory, std::size_t bytes) {
  if (bytes > memory.size()) {
    memory = {};
    memory = SharedArray<std::byte>(bytes);
  }
  return memory.data();
}

void HostPlace::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) spi::copy(to, from, bytes, false);
}

void HostPlace::zero(void* to, std::size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
}

void HostPlace::scale(void* data, std::uint64_t count, DataType type, double factor, std::uint64_t divisor) {
  spi::scale(data, count, type, factor, divisor);
}

}  // namespace tutti::horovod
