#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "machine.hpp"

namespace tutti::test::fake_cuda {

enum class Kind : std::uint8_t { device, managed, pinned, registered };

/// An allocation. Queued work holds a reference, so that a use after free is detected and does not crash.
struct Block {
  std::uintptr_t address = 0;  ///< address that the program gets
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;
  std::byte* view = nullptr;  ///< address for the CPU
  bool is_imported = false;
  std::string source;  ///< of an imported block: its file, offset and device
  std::size_t mapped_bytes = 0;
  std::atomic<bool> is_freed = false;
  std::atomic<int> users = 0;  ///< queued work

  [[nodiscard]] std::byte* view_of(const void* pointer) const noexcept {
    return view + (reinterpret_cast<std::uintptr_t>(pointer) - address);
  }
};
using BlockPointer = std::shared_ptr<Block>;

/// An address range that the host cannot access. No address is used twice, so that a freed pointer is recognised.
class Arena {
 public:
  explicit Arena(std::size_t bytes);
  [[nodiscard]] std::uintptr_t take(std::size_t bytes) noexcept;
  [[nodiscard]] bool holds(const void* pointer) const noexcept;
  [[nodiscard]] std::uintptr_t begin() const noexcept { return begin_; }

 private:
  std::uintptr_t begin_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

class MemoryTable {
 public:
  static MemoryTable& instance();

  [[nodiscard]] cudaError_t allocate(int device, Kind kind, std::size_t bytes, void** pointer);
  [[nodiscard]] cudaError_t register_host(int device, void* pointer, std::size_t bytes);
  /// Removes a block that no work uses any more.
  void release(const BlockPointer& block);

  [[nodiscard]] cudaError_t export_block(const void* pointer, cudaIpcMemHandle_t& handle);
  [[nodiscard]] cudaError_t import_block(int device, const cudaIpcMemHandle_t& handle, void** pointer);

  /// The allocation that contains the address; null if there is none.
  [[nodiscard]] BlockPointer find(const void* pointer);
  /// Whether it is or was an address of device memory.
  [[nodiscard]] bool is_device_address(const void* pointer);

 private:
  struct Bank;  // the memory of a device
  MemoryTable();
  [[nodiscard]] BlockPointer add(BlockPointer block);
  [[nodiscard]] Bank& bank(int device);

  std::mutex mutex_;
  std::map<std::uintptr_t, BlockPointer> blocks_;
  std::map<int, std::unique_ptr<Bank>> banks_;
  Arena imports_;
};

/// Memory that queued work uses.
struct Access {
  std::byte* view = nullptr;
  BlockPointer block;  ///< null: ordinary memory of the host
};

/// Resolves memory for a copy; ordinary host memory is allowed and not checked.
[[nodiscard]] cudaError_t resolve_for_copy(const void* pointer, std::size_t bytes, Access& access);
/// Resolves memory for a kernel on the device.
[[nodiscard]] cudaError_t resolve_for_kernel(int device, const void* pointer, std::size_t bytes, Access& access);

}  // namespace tutti::test::fake_cuda
