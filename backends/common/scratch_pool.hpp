#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tutti/spi/device.hpp"

namespace tutti::common {

/// Memory of a device, or pinned memory of the host beside it.
class ScratchBlock {
 public:
  ScratchBlock(spi::DeviceRuntime& runtime, const Stream& stream, MemoryKind kind, std::size_t bytes,
               std::string_view owner);
  ~ScratchBlock();
  ScratchBlock(const ScratchBlock&) = delete;
  ScratchBlock& operator=(const ScratchBlock&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }

 private:
  spi::DeviceRuntime& runtime_;
  Stream stream_;
  MemoryKind kind_;
  std::size_t bytes_;
  std::string_view owner_;
  void* data_;
};

/// Temporary memory of a communicator: blocks that come back are used again, since allocating on a device waits for the
/// device. Thread-safe.
class ScratchPool {
 public:
  /// `stream` says whose memory; `owner` is reported: static storage.
  ScratchPool(spi::DeviceRuntime& runtime, const Stream& stream, std::string_view owner);

  /// At least so many bytes, aligned as the runtime's allocations are. Comes back to the pool with its last copy, which
  /// may outlive the pool.
  [[nodiscard]] std::shared_ptr<ScratchBlock> take(MemoryKind kind, std::size_t bytes);

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<ScratchBlock>> free;
  };

  spi::DeviceRuntime& runtime_;
  Stream stream_;
  std::string_view owner_;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace tutti::common
