// Contexts and memory. Freed addresses are never mapped again, so that a stale pointer is recognised and faults on the
// host.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "driver.hpp"

namespace fake_level_zero {

namespace {

/// Allocations by the program's address. Guarded by the lock.
struct Memory {
  std::map<const std::byte*, std::shared_ptr<Allocation>> live;
  std::map<const std::byte*, std::size_t> freed;
};
Memory& memory() {
  static auto* instance = new Memory;
  return *instance;
}

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* map(std::size_t bytes, int protection, int flags, int file = -1) {
  void* address = mmap(nullptr, bytes, protection, flags, file, 0);
  return address == MAP_FAILED ? nullptr : address;
}

/// Reserves the program's address range and maps the file for the driver.
bool map_device_memory(Allocation& block) {
  block.address = static_cast<std::byte*>(map(block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
  block.view = static_cast<std::byte*>(map(block.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, block.file));
  return block.address != nullptr && block.view != nullptr;
}

bool map_memory(Allocation& block) {
  if (block.type != ZE_MEMORY_TYPE_DEVICE) {
    block.address = block.view =
        static_cast<std::byte*>(map(block.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS));
    return block.address != nullptr;
  }
  block.file = memfd_create("fake level zero", MFD_CLOEXEC);
  return block.file >= 0 && ftruncate(block.file, static_cast<off_t>(block.mapped)) == 0 && map_device_memory(block);
}

void unmap(Allocation& block) {
  if (block.view != nullptr && block.view != block.address) munmap(block.view, block.mapped);
  if (block.address != nullptr) {
    mmap(block.address, block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  if (block.file >= 0) close(block.file);
  if (block.exported >= 0) close(block.exported);
}

ze_result_t allocate(const std::string& function, ze_context_handle_t context, ze_memory_type_t type,
                     ze_device_handle_t device, std::size_t bytes, void** pointer) {
  const std::scoped_lock lock(world().mutex);
  auto block = std::make_shared<Allocation>();
  block->context = world().contexts.find(context);
  if (block->context == nullptr) return unknown_handle(function, "context");
  if (device != nullptr) {
    block->device = find_device(device, function);
    if (block->device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  } else if (type == ZE_MEMORY_TYPE_DEVICE) {
    return violation(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, function + " got no device");
  }
  if (bytes == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  block->type = type;
  block->bytes = bytes;
  block->mapped = whole_pages(bytes);
  if (type == ZE_MEMORY_TYPE_DEVICE && block->device->used_bytes + bytes > memory_of(*block->device)) {
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  if (!map_memory(*block)) {
    unmap(*block);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  if (type == ZE_MEMORY_TYPE_DEVICE) block->device->used_bytes += bytes;
  ++block->context->objects;
  memory().live[block->address] = block;
  *pointer = block->address;
  return ZE_RESULT_SUCCESS;
}

/// The allocation of the context that begins at `pointer`; an error and a violation if there is none.
ze_result_t find_whole(const std::string& function, ze_context_handle_t context, const void* pointer,
                       std::shared_ptr<Allocation>& block) {
  const auto owner = world().contexts.find(context);
  if (owner == nullptr) return unknown_handle(function, "context");
  block = find_memory(pointer);
  if (block == nullptr || block->address != pointer) {
    return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     function + " got a pointer that is " +
                         (was_freed(pointer) ? "freed already" : "not the beginning of any memory"));
  }
  if (block->context != owner) {
    return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT, function + " got memory of another context");
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t forget(const std::string& function, const std::shared_ptr<Allocation>& block) {
  if (block->uses > 0) {
    return violation(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                     function + " got memory of " + std::to_string(block->uses) + " commands that have not ended");
  }
  if (block->type == ZE_MEMORY_TYPE_DEVICE && !block->is_opened) block->device->used_bytes -= block->bytes;
  --block->context->objects;
  memory().live.erase(block->address);
  memory().freed[block->address] = block->mapped;
  unmap(*block);
  return ZE_RESULT_SUCCESS;
}

/// First bytes of a handle, as with the real driver: a process that opens it must first put a descriptor of its own
/// there.
struct PlainIpc {
  std::uint64_t file;
  std::uint64_t offset;  ///< always 0
  std::uint8_t type;
  std::uint8_t unused[7];
};
/// The same with FAKE_LEVEL_ZERO_OPAQUE_IPC=1, as in newer drivers: the driver takes the descriptor from the named
/// process.
struct OpaqueIpc {
  std::uint64_t file;
  std::uint64_t offset;
  std::int32_t process;
  std::uint8_t handle_type;
  std::uint8_t type;
  std::uint8_t unused[2];
};
struct IpcContent {
  union {
    PlainIpc plain;
    OpaqueIpc opaque;
  };
  std::int32_t card;
  std::int32_t tile;
  std::uint64_t bytes;
};
static_assert(sizeof(PlainIpc) == sizeof(OpaqueIpc) && sizeof(IpcContent) <= ZE_MAX_IPC_HANDLE_SIZE);

constexpr std::uint8_t kDeviceMemory = 0;

bool has_opaque_handles() {
  static const bool has = [] {
    const char* value = std::getenv("FAKE_LEVEL_ZERO_OPAQUE_IPC");  // NOLINT: drivers read the environment
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return has;
}

IpcContent content_of(const Allocation& block) {
  IpcContent content = {};
  if (has_opaque_handles()) {
    content.opaque = {static_cast<std::uint64_t>(block.exported), 0, getpid(), 0, kDeviceMemory, {}};
  } else {
    content.plain = {static_cast<std::uint64_t>(block.exported), 0, kDeviceMemory, {}};
  }
  content.card = block.device->card;
  content.tile = block.device->tile;
  content.bytes = block.bytes;
  return content;
}

/// A new descriptor of the file of a handle; -1 if there is none.
int take_file(const IpcContent& content) {
  if (!has_opaque_handles()) return dup(static_cast<int>(content.plain.file));
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, content.opaque.process, 0));
  if (process < 0) return -1;
  const auto file = static_cast<int>(syscall(SYS_pidfd_getfd, process, static_cast<int>(content.opaque.file), 0));
  close(process);
  return file;
}

}  // namespace

World& world() {
  static auto* instance = new World;
  return *instance;
}

std::shared_ptr<Allocation> find_memory(const void* pointer) {
  const auto* address = static_cast<const std::byte*>(pointer);
  auto next = memory().live.upper_bound(address);
  if (next == memory().live.begin()) return nullptr;
  const auto& block = std::prev(next)->second;
  return address < block->address + block->mapped ? block : nullptr;
}

bool was_freed(const void* pointer) {
  const auto* address = static_cast<const std::byte*>(pointer);
  auto next = memory().freed.upper_bound(address);
  if (next == memory().freed.begin()) return false;
  --next;
  return address < next->first + next->second;
}

ze_result_t context_create(ze_driver_handle_t, const ze_context_desc_t*, ze_context_handle_t* handle) {
  const std::scoped_lock lock(world().mutex);
  *handle = world().contexts.add(std::make_shared<Context>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_destroy(ze_context_handle_t handle) {
  const std::scoped_lock lock(world().mutex);
  const auto context = world().contexts.find(handle);
  if (context == nullptr) return unknown_handle("zeContextDestroy", "context");
  if (context->objects > 0) {
    return violation(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                     "zeContextDestroy got a context with " + std::to_string(context->objects) + " objects in it");
  }
  world().contexts.remove(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_check_memory(ze_context_handle_t context, ze_device_handle_t device, void* pointer, std::size_t) {
  const std::scoped_lock lock(world().mutex);
  const auto owner = world().contexts.find(context);
  if (owner == nullptr) return unknown_handle("zeContextMakeMemoryResident", "context");
  if (find_device(device, "zeContextMakeMemoryResident") == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  const auto block = find_memory(pointer);
  return block == nullptr || block->context != owner ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS;
}

ze_result_t memory_allocate_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t*, std::size_t bytes,
                                   std::size_t, ze_device_handle_t device, void** pointer) {
  return allocate("zeMemAllocDevice", context, ZE_MEMORY_TYPE_DEVICE, device, bytes, pointer);
}

ze_result_t memory_allocate_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t*, std::size_t bytes,
                                 std::size_t, void** pointer) {
  return allocate("zeMemAllocHost", context, ZE_MEMORY_TYPE_HOST, nullptr, bytes, pointer);
}

ze_result_t memory_allocate_shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t*,
                                   const ze_host_mem_alloc_desc_t*, std::size_t bytes, std::size_t,
                                   ze_device_handle_t device, void** pointer) {
  return allocate("zeMemAllocShared", context, ZE_MEMORY_TYPE_SHARED, device, bytes, pointer);
}

ze_result_t memory_free(ze_context_handle_t context, void* pointer) {
  const std::scoped_lock lock(world().mutex);
  std::shared_ptr<Allocation> block;
  const ze_result_t result = find_whole("zeMemFree", context, pointer, block);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (block->is_opened) {
    return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeMemFree got memory that was opened from a handle");
  }
  return forget("zeMemFree", block);
}

ze_result_t memory_get_properties(ze_context_handle_t context, const void* pointer,
                                  ze_memory_allocation_properties_t* properties, ze_device_handle_t* device) {
  const std::scoped_lock lock(world().mutex);
  const auto owner = world().contexts.find(context);
  if (owner == nullptr) return unknown_handle("zeMemGetAllocProperties", "context");
  const auto block = find_memory(pointer);
  const bool is_known = block != nullptr && block->context == owner;
  properties->type = is_known ? block->type : ZE_MEMORY_TYPE_UNKNOWN;
  properties->id = is_known ? reinterpret_cast<std::uintptr_t>(block->address) : 0;
  properties->pageSize = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (device != nullptr) *device = reinterpret_cast<ze_device_handle_t>(is_known ? block->device : nullptr);
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_get_range(ze_context_handle_t context, const void* pointer, void** base, std::size_t* bytes) {
  const std::scoped_lock lock(world().mutex);
  const auto block = find_memory(pointer);
  if (block == nullptr || block->context != world().contexts.find(context)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (base != nullptr) *base = block->address;
  if (bytes != nullptr) *bytes = block->bytes;
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_get_ipc_handle(ze_context_handle_t context, const void* pointer, ze_ipc_mem_handle_t* handle) {
  const std::scoped_lock lock(world().mutex);
  std::shared_ptr<Allocation> block;
  const ze_result_t result = find_whole("zeMemGetIpcHandle", context, pointer, block);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (block->type != ZE_MEMORY_TYPE_DEVICE) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  // As in real drivers, an allocation has one descriptor for all its handles.
  if (block->exported < 0) block->exported = dup(block->file);
  if (block->exported < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  const IpcContent content = content_of(*block);
  *handle = {};
  std::memcpy(handle->data, &content, sizeof(content));
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_open_ipc_handle(ze_context_handle_t context, ze_device_handle_t device, ze_ipc_mem_handle_t handle,
                                   ze_ipc_memory_flags_t, void** pointer) {
  const std::scoped_lock lock(world().mutex);
  IpcContent content = {};
  std::memcpy(&content, handle.data, sizeof(content));
  auto block = std::make_shared<Allocation>();
  block->context = world().contexts.find(context);
  if (block->context == nullptr) return unknown_handle("zeMemOpenIpcHandle", "context");
  block->device = find_device(device, "zeMemOpenIpcHandle");
  if (block->device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  const Device owner{.card = content.card, .tile = content.tile};
  if (!can_access(*block->device, owner)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  block->file = take_file(content);
  struct stat status = {};
  if (fstat(block->file, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < content.bytes ||
      content.bytes == 0) {
    unmap(*block);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  block->type = ZE_MEMORY_TYPE_DEVICE;
  block->bytes = content.bytes;
  block->mapped = whole_pages(content.bytes);
  block->is_opened = true;
  if (!map_device_memory(*block)) {
    unmap(*block);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  ++block->context->objects;
  memory().live[block->address] = block;
  *pointer = block->address;
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_close_ipc_handle(ze_context_handle_t context, const void* pointer) {
  const std::scoped_lock lock(world().mutex);
  std::shared_ptr<Allocation> block;
  const ze_result_t result = find_whole("zeMemCloseIpcHandle", context, pointer, block);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (!block->is_opened) {
    return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "zeMemCloseIpcHandle got memory that was not opened from a handle");
  }
  return forget("zeMemCloseIpcHandle", block);
}

}  // namespace fake_level_zero
