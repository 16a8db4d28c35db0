#pragma once

#include <cstddef>
#include <utility>

#include "tutti/device.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"

namespace tutti::horovod {

/// Memory that the engine has allocated for a stream: of the stream's device, or pinned memory of the host. Move-only;
/// does not outlive the stream.
class DeviceBlock {
 public:
  DeviceBlock() noexcept = default;
  DeviceBlock(const Stream& stream, MemoryKind kind, std::size_t bytes)
      : stream_(stream),
        kind_(kind),
        bytes_(bytes),
        data_(bytes == 0 ? nullptr : spi::device_runtime(stream.device()).allocate(stream, kind, bytes, kOwner)) {}
  DeviceBlock(DeviceBlock&& other) noexcept { swap(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBlock() {
    if (data_ != nullptr) spi::device_runtime(stream_.device()).release(stream_, data_, kind_, bytes_, kOwner);
  }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] Memory where() const noexcept { return {stream_.device(), kind_}; }

 private:
  static constexpr const char* kOwner = "horovod";
  void swap(DeviceBlock& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(kind_, other.kind_);
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
  }

  Stream stream_;
  MemoryKind kind_ = MemoryKind::device;
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace tutti::horovod
