#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tutti/spi/device.hpp"

namespace tutti::common {

/// A block of device memory, or of pinned host memory for that device.
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

/// Temporary memory of a communicator. Returned blocks are reused, since allocating on a device waits for the device.
/// Thread-safe.
class ScratchPool {
 public:
  /// The memory is of the device and context of `stream`. `owner` is reported with each allocation; static storage.
  ScratchPool(spi::DeviceRuntime& runtime, const Stream& stream, std::string_view owner);

  /// A block of at least `bytes` bytes, aligned as the runtime's allocations are. Returns to the pool with the last
  /// copy of the pointer, which may outlive the pool.
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
