#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <span>

#include "cuda_memory.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::cuda_device {

/// Device memory of other processes. CUDA shares whole allocations and opens each once: a handle of tutti's says where
/// in it the memory lies, and openings are counted. One that could not be closed yet, because a gate is, serves again
/// if it is of the same allocation, which CUDA numbers: its own handles may be those of memory that was freed. Within a
/// process the memory itself is what a handle leads to, since CUDA opens none of its own. Thread-safe.
class Sharing {
 public:
  Sharing(const Api& api, Contexts& contexts, MemoryBook& memory);

  [[nodiscard]] spi::IpcHandle export_memory(Device device, void* pointer);
  [[nodiscard]] void* import_memory(Device device, std::span<const std::byte> handle);
  void close_memory(void* imported) noexcept;

  /// Lets kernels of a device reach memory of another. Throws Error{unsupported} when they cannot.
  void make_peer(Device device, int of);

 private:
  using Bytes = std::array<char, sizeof(cudaIpcMemHandle_t)>;
  struct Opening {
    Bytes handle;
    std::uint64_t allocation;
    int device;
    std::byte* base;
    int users;  ///< none: it is being closed
  };
  struct Wire;

  /// With the lock.
  [[nodiscard]] std::list<Opening>::iterator open(int device, const Wire& wire);

  const Api& api_;
  Contexts& contexts_;
  MemoryBook& memory_;
  std::uint64_t process_;  ///< a number that no other process has; several may have one process id in containers
  std::mutex mutex_;
  std::list<Opening> openings_;
  std::multimap<void*, std::list<Opening>::iterator> imported_;
};

}  // namespace tutti::cuda_device
