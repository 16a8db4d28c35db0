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

/// An allocation. Work that uses it keeps it, so that a use after it was freed is found and does not crash.
struct Block {
  std::uintptr_t address = 0;  ///< as the program knows it
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;
  std::byte* view = nullptr;  ///< where the CPU finds it
  bool is_imported = false;
  std::string source;  ///< of an imported one: what it shows
  std::size_t mapped_bytes = 0;
  std::atomic<bool> is_freed = false;
  std::atomic<int> users = 0;  ///< queued work

  [[nodiscard]] std::byte* view_of(const void* pointer) const noexcept {
    return view + (reinterpret_cast<std::uintptr_t>(pointer) - address);
  }
};
using BlockPointer = std::shared_ptr<Block>;

/// A stretch of addresses that the host cannot touch. None is used twice, so that a freed pointer is known as such.
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
  /// Forgets a block that nothing uses any more.
  void release(const BlockPointer& block);

  [[nodiscard]] cudaError_t export_block(const void* pointer, cudaIpcMemHandle_t& handle);
  [[nodiscard]] cudaError_t import_block(int device, const cudaIpcMemHandle_t& handle, void** pointer);

  /// The allocation that holds the byte; null when there is none.
  [[nodiscard]] BlockPointer find(const void* pointer);
  /// Whether it is an address of devices, live or not.
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

/// Memory as work uses it.
struct Access {
  std::byte* view = nullptr;
  BlockPointer block;  ///< null: ordinary memory of the host
};

/// What a copy may use. Ordinary host memory is, whatever it is.
[[nodiscard]] cudaError_t resolve_for_copy(const void* pointer, std::size_t bytes, Access& access);
/// What a kernel on the device may use.
[[nodiscard]] cudaError_t resolve_for_kernel(int device, const void* pointer, std::size_t bytes, Access& access);

}  // namespace tutti::test::fake_cuda
