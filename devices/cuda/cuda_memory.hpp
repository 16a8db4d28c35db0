#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "cuda_context.hpp"
#include "tutti/device.hpp"

namespace tutti::cuda_device {

/// Memory that tutti has allocated. Giving memory back waits for all work of the device, including streams behind
/// closed gates, and the thread that gives back may be the one that opens the gate. So while a gate is closed, memory
/// is only noted down; the next allocation or release when no gate is closed gives it back. Thread-safe.
class MemoryBook {
 public:
  MemoryBook(const Api& api, Contexts& contexts) : api_(api), contexts_(contexts) {}

  /// Counts a gate as closed until end().
  class Closed {
   public:
    explicit Closed(MemoryBook& book);
    ~Closed() { end(); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    void end() noexcept;

   private:
    MemoryBook& book_;
    bool is_ended_ = false;
  };

  /// Null for 0 bytes. Throws Error{system} when memory is exhausted.
  [[nodiscard]] void* allocate(int device, MemoryKind kind, std::size_t bytes);
  void release(int device, void* pointer) noexcept;
  /// Like release(), for memory opened by cudaIpcOpenMemHandle.
  void close(int device, void* opened) noexcept;
  /// Whether close() was called but the memory is still open.
  [[nodiscard]] bool is_noted(const void* opened) noexcept;
  /// Takes back close() if the memory is still open; returns whether it did.
  [[nodiscard]] bool reopen(const void* opened) noexcept;

 private:
  using Free = spi::VendorFunction<cudaError_t (*)(void*)> Api::*;
  struct Entry {
    int device;
    void* pointer;
    Free how;
  };
  /// Only with the lock, so that no gate closes meanwhile.
  void give_back(const Entry& entry) noexcept;
  void give_back_noted() noexcept;

  const Api& api_;
  Contexts& contexts_;
  std::mutex mutex_;
  int closed_gates_ = 0;
  std::map<void*, MemoryKind> kinds_;
  std::vector<Entry> noted_;
};

}  // namespace tutti::cuda_device
