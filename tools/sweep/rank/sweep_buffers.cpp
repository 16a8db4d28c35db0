#include "sweep/rank/sweep_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

constexpr std::string_view kOwner = "sweep";

Buffer bytes_at(std::byte* data, std::size_t bytes, Memory where = {}) { return {data, bytes, DataType::uint8, where}; }

}  // namespace

Pages::Pages(std::size_t bytes)
    : bytes_(std::max<std::size_t>(bytes, 1)),
      data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (data_ == MAP_FAILED)
    throw Error(ErrorCode::system, concat("cannot allocate ", format_bytes_rounded(bytes), " of host memory"));
}

Pages::~Pages() { munmap(data_, bytes_); }

Buffer SweepBuffer::get(std::uint64_t first, std::uint64_t count, DataType type) const {
  const std::size_t offset = static_cast<std::size_t>(first) * size_of(type);
  return stream_.is_host() ? Buffer(host() + offset, count, type) : Buffer(image_ + offset, count, type, where());
}

void SweepBuffer::require(std::size_t bytes) {
  if (stream_.is_host() || bytes <= image_bytes_) return;
  release();
  spi::DeviceRuntime& runtime = spi::device_runtime(stream_.device());
  image_ = static_cast<std::byte*>(runtime.allocate(stream_, MemoryKind::device, bytes, kOwner));
  image_bytes_ = bytes;
}

void SweepBuffer::release() noexcept {
  if (image_ == nullptr) return;
  spi::device_runtime(stream_.device()).release(stream_, image_, MemoryKind::device, image_bytes_, kOwner);
  image_ = nullptr;
  image_bytes_ = 0;
}

void SweepBuffer::send(std::size_t first, std::size_t bytes) const {
  if (stream_.is_host() || bytes == 0) return;
  spi::device_runtime(stream_.device())
      .copy(stream_, bytes_at(image_ + first, bytes, where()), bytes_at(host() + first, bytes))
      ->wait();
}

void SweepBuffer::fetch(std::size_t first, std::size_t bytes) const {
  if (stream_.is_host() || bytes == 0) return;
  spi::device_runtime(stream_.device())
      .copy(stream_, bytes_at(host() + first, bytes), bytes_at(image_ + first, bytes, where()))
      ->wait();
}

}  // namespace tutti::tools
