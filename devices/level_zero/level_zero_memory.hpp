#pragma once

#include <span>

#include "level_zero_devices.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::level_zero_device {

/// Memory in contexts of the application or of tutti.
class Memory {
 public:
  Memory(const Api& api, const Devices& devices) : api_(api), devices_(devices) {}

  /// Kind of the memory of a pointer for commands of `stream`. If it is none of the stream's context, `others` are
  /// searched to name the owner in the error text.
  [[nodiscard]] spi::PointerInfo locate(const Stream& stream, const void* pointer,
                                        std::span<const ze_context_handle_t> others) const;
  [[nodiscard]] void* allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) const;
  void release(const Stream& stream, void* pointer) const noexcept;

  [[nodiscard]] spi::IpcHandle export_memory(const Stream& stream, void* pointer) const;
  [[nodiscard]] void* import_memory(const Stream& stream, std::span<const std::byte> handle) const;
  void close_memory(const Stream& stream, void* imported) const noexcept;

 private:
  struct Properties {
    ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
    ze_device_handle_t device = nullptr;
  };
  [[nodiscard]] Properties properties(ze_context_handle_t context, const void* pointer) const;

  const Api& api_;
  const Devices& devices_;
};

}  // namespace tutti::level_zero_device
