#pragma once

#include <cstddef>
#include <memory>

#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/buffer.hpp"

namespace tutti::tools {

/// Memory whose pages are allocated on first use, so that the largest cell costs no memory before its turn.
class Pages {
 public:
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

/// A buffer of a sweep rank: host memory that is filled and checked. If the rank has a device, the operations work on
/// an image of it in device memory.
class SweepBuffer {
 public:
  /// `stream`: a stream made by tutti on the rank's device, or the host's stream. It must outlive the buffer.
  SweepBuffer(std::size_t most_bytes, const Stream& stream) : pages_(most_bytes), stream_(stream) {}
  ~SweepBuffer() { release(); }
  SweepBuffer(const SweepBuffer&) = delete;
  SweepBuffer& operator=(const SweepBuffer&) = delete;

  /// The host memory.
  [[nodiscard]] std::byte* host() const noexcept { return pages_.data(); }
  /// `count` elements from element `first` on, for the operations: device memory if the rank has a device, else host
  /// memory.
  [[nodiscard]] Buffer get(std::uint64_t first, std::uint64_t count, DataType type) const;

  /// Allocates at least `bytes` of device memory; no effect on the host. Throws Error{system} when there is none left.
  void require(std::size_t bytes);
  /// Copy a part to the device (send) or from it (fetch). Both block; no effect on the host.
  void send(std::size_t first, std::size_t bytes) const;
  void fetch(std::size_t first, std::size_t bytes) const;

 private:
  [[nodiscard]] Memory where() const noexcept { return {stream_.device(), MemoryKind::device}; }
  void release() noexcept;

  Pages pages_;
  Stream stream_;
  std::byte* image_ = nullptr;
  std::size_t image_bytes_ = 0;
};

}  // namespace tutti::tools
