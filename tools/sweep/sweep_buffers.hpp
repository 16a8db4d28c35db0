#pragma once

#include <cstddef>
#include <memory>

#include "tutti/buffer.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"

namespace tutti::tools {

/// Pages that exist once they are touched, so that memory for the largest cell costs nothing before it is its turn.
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

/// One buffer of a rank of the sweep: host memory that is filled and checked, and its image on the rank's device, if it
/// has one, that the operations get.
class SweepBuffer {
 public:
  /// `stream`: of tutti's own, on the rank's device; the host's for buffers that are host memory. It must outlive this.
  SweepBuffer(std::size_t most_bytes, const Stream& stream) : pages_(most_bytes), stream_(stream) {}
  ~SweepBuffer() { release(); }
  SweepBuffer(const SweepBuffer&) = delete;
  SweepBuffer& operator=(const SweepBuffer&) = delete;

  /// The memory on the host.
  [[nodiscard]] std::byte* host() const noexcept { return pages_.data(); }
  /// What the operations get.
  [[nodiscard]] Buffer get(std::uint64_t count, DataType type) const;

  /// Gets memory on the device for so many bytes. Throws Error{system} when there is none left.
  void require(std::size_t bytes);
  /// Copies a part to the device, or from there; nothing to do on the host. They block.
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
