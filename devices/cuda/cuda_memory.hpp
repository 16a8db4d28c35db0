#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "cuda_context.hpp"
#include "tutti/device.hpp"

namespace tutti::cuda_device {

/// What tutti has allocated. Giving memory back waits for all work of the device, streams behind closed gates included,
/// and whoever opens a gate may be the one who gives back: while any is closed, memory is only noted down, and goes
/// with the next that comes or goes when none is. Thread-safe.
class MemoryBook {
 public:
  MemoryBook(const Api& api, Contexts& contexts) : api_(api), contexts_(contexts) {}

  /// A gate while it is closed.
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

  /// Null for no bytes. Throws Error{system} when there is none left.
  [[nodiscard]] void* allocate(int device, MemoryKind kind, std::size_t bytes);
  void release(int device, void* pointer) noexcept;
  /// The same for memory that cudaIpcOpenMemHandle gave.
  void close(int device, void* opened) noexcept;
  /// Whether it was closed and yet is open.
  [[nodiscard]] bool is_noted(const void* opened) noexcept;
  /// Takes back close() if it is.
  [[nodiscard]] bool reopen(const void* opened) noexcept;

 private:
  using Free = spi::VendorFunction<cudaError_t (*)(void*)> Api::*;
  struct Entry {
    int device;
    void* pointer;
    Free how;
  };
  /// With the lock: gates cannot close meanwhile.
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
