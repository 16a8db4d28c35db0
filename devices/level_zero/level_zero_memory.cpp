#include "level_zero_memory.hpp"

#include "level_zero_events.hpp"
#include "tutti/error.hpp"

namespace tutti::level_zero_device {

namespace {

constexpr std::size_t kAlignment = 64;

std::string kind_text(ze_memory_type_t type) {
  return type == ZE_MEMORY_TYPE_HOST ? "host" : type == ZE_MEMORY_TYPE_DEVICE ? "device" : "shared";
}

MemoryKind kind_of(ze_memory_type_t type) noexcept {
  if (type == ZE_MEMORY_TYPE_HOST) return MemoryKind::host;
  return type == ZE_MEMORY_TYPE_DEVICE ? MemoryKind::device : MemoryKind::shared;
}

}  // namespace

Memory::Properties Memory::properties(ze_context_handle_t context, const void* pointer) const {
  ze_memory_allocation_properties_t found = {};
  found.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  Properties result;
  api_.call(api_.mem_get_alloc_properties, context, pointer, &found, &result.device);
  result.type = found.type;
  return result;
}

spi::PointerInfo Memory::locate(const Stream& stream, const void* pointer,
                                std::span<const ze_context_handle_t> others) const {
  const Properties found = properties(list_of(stream).context, pointer);
  const auto owner_text = [this](const Properties& memory) {
    return kind_text(memory.type) + " memory" +
           (memory.device == nullptr ? std::string() : " of " + devices_.find(memory.device).number.name());
  };
  if (found.type == ZE_MEMORY_TYPE_UNKNOWN) {
    for (const ze_context_handle_t context : others) {
      const Properties elsewhere = properties(context, pointer);
      if (elsewhere.type != ZE_MEMORY_TYPE_UNKNOWN)
        return {std::nullopt, owner_text(elsewhere) + " in another context"};
    }
    return {std::nullopt, "memory outside the stream's context: ordinary host memory, freed, or of another context"};
  }
  const MemoryKind kind = kind_of(found.type);
  if (kind == MemoryKind::device) {
    const Device owner = devices_.find(found.device).number;
    // Tiles reach memory of their whole card.
    const bool is_reachable =
        owner == stream.device() || (owner.index() == stream.device().index() && owner.sub_device() < 0);
    if (!is_reachable) return {std::nullopt, owner_text(found)};
  }
  return {tutti::Memory{stream.device(), kind}, {}};
}

void* Memory::allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) const {
  const CommandList& list = list_of(stream);
  ze_device_mem_alloc_desc_t device = {};
  device.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  ze_host_mem_alloc_desc_t host = {};
  host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  if (bytes == 0) bytes = 1;  // Level Zero refuses 0
  void* pointer = nullptr;
  try {
    if (kind == MemoryKind::host)
      api_.call(api_.mem_alloc_host, list.context, &host, bytes, kAlignment, &pointer);
    else if (kind == MemoryKind::device)
      api_.call(api_.mem_alloc_device, list.context, &device, bytes, kAlignment, list.device, &pointer);
    else
      api_.call(api_.mem_alloc_shared, list.context, &device, &host, bytes, kAlignment, list.device, &pointer);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::system) throw;
    throw Error(ErrorCode::system,
                stream.device().name() + " has no " + std::to_string(bytes) + " bytes of " +
                    std::string(tutti::name(kind)) + " memory left: " + error.what(),
                "level_zero", error.vendor_code());
  }
  return pointer;
}

void Memory::release(const Stream& stream, void* pointer) const noexcept {
  (void)api_.mem_free(list_of(stream).context, pointer);
}

}  // namespace tutti::level_zero_device
