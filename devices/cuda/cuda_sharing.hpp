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

/// Sharing of device memory between processes. CUDA shares whole allocations and opens each once: a handle of tutti
/// adds the offset in the allocation, and openings are counted. An opening that could not be closed yet, because a gate
/// is closed, is reused for the same allocation. CUDA's number of the allocation tells that: CUDA's handle may be the
/// same as that of freed memory. In the exporting process a handle leads to the memory itself, since CUDA does not open
/// handles of the same process. Thread-safe.
class Sharing {
 public:
  Sharing(const Api& api, Contexts& contexts, MemoryBook& memory);

  [[nodiscard]] spi::IpcHandle export_memory(Device device, void* pointer);
  [[nodiscard]] void* import_memory(Device device, std::span<const std::byte> handle);
  void close_memory(void* imported) noexcept;

  /// Lets `device` access memory of the device `of`. Throws Error{unsupported} when it cannot.
  void make_peer(Device device, int of);

 private:
  using Bytes = std::array<char, sizeof(cudaIpcMemHandle_t)>;
  struct Opening {
    Bytes handle;
    std::uint64_t allocation;
    int device;
    std::byte* base;
    int users;  ///< 0: it is being closed
  };
  struct Wire;

  /// Only with the lock.
  [[nodiscard]] std::list<Opening>::iterator open(int device, const Wire& wire);

  const Api& api_;
  Contexts& contexts_;
  MemoryBook& memory_;
  std::uint64_t process_;  ///< random; process ids may be equal in different containers
  std::mutex mutex_;
  std::list<Opening> openings_;
  std::multimap<void*, std::list<Opening>::iterator> imported_;
};

}  // namespace tutti::cuda_device
