// libcudart: memory.
#include <cstring>

#include "memory.hpp"
#include "streams.hpp"

using namespace tutti::test::fake_cuda;

namespace {

cudaError_t allocate(const char* function, Kind kind, void** pointer, std::size_t bytes) {
  if (const cudaError_t error = may_use(function)) return leave(error);
  const int device = use_current_device();
  if (const cudaError_t error = may_call(function, device)) return leave(error);
  if (Machine::instance().lets_allocations_wait) (void)StreamTable::instance().await_idle(device);
  return leave(MemoryTable::instance().allocate(device, kind, bytes, pointer));
}

/// Waits until the device is idle, so that no work uses the memory any more, and frees it.
cudaError_t release(const BlockPointer& block) {
  const cudaError_t error = StreamTable::instance().await_idle(block->device);
  MemoryTable::instance().release(block);
  return leave(error);
}

bool is_on_host(const BlockPointer& block) {
  return block == nullptr || block->kind == Kind::pinned || block->kind == Kind::registered;
}

/// Whether the given direction matches the pointers; managed memory matches both sides.
bool fits(cudaMemcpyKind kind, const Access& to, const Access& from) {
  const auto fits_side = [](const Access& side, bool is_host) {
    return (side.block != nullptr && side.block->kind == Kind::managed) || is_on_host(side.block) == is_host;
  };
  switch (kind) {
    case cudaMemcpyHostToHost:
      return fits_side(to, true) && fits_side(from, true);
    case cudaMemcpyHostToDevice:
      return fits_side(to, false) && fits_side(from, true);
    case cudaMemcpyDeviceToHost:
      return fits_side(to, true) && fits_side(from, false);
    case cudaMemcpyDeviceToDevice:
      return fits_side(to, false) && fits_side(from, false);
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

/// Counts queued work as a user of its allocations.
class Use {
 public:
  explicit Use(std::vector<Access> all) : all_(std::move(all)) {
    for (const Access& one : all_) {
      if (one.block != nullptr) ++one.block->users;
    }
  }
  ~Use() {
    for (const Access& one : all_) {
      if (one.block != nullptr) --one.block->users;
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  /// Checks again when the work begins.
  [[nodiscard]] cudaError_t check(int device) const {
    for (const Access& one : all_) {
      if (one.block == nullptr || !one.block->is_freed) continue;
      return violate_on(device, cudaErrorIllegalAddress, "queued work uses memory that was freed");
    }
    return cudaSuccess;
  }

 private:
  std::vector<Access> all_;
};

cudaError_t copy(const char* function, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t handle, bool is_blocking) {
  if (const cudaError_t error = may_use(function)) return leave(error);
  StreamPointer stream;
  if (const cudaError_t error = StreamTable::instance().find(handle, stream)) return leave(error);
  if (const cudaError_t error = may_call(function, stream->device())) return leave(error);
  if (bytes == 0) return cudaSuccess;
  Access target;
  Access source;
  if (const cudaError_t error = resolve_for_copy(to, bytes, target)) return leave(error);
  if (const cudaError_t error = resolve_for_copy(from, bytes, source)) return leave(error);
  if (!fits(kind, target, source)) {
    return leave(violate(cudaErrorInvalidValue, "the direction of a copy is not that of its pointers"));
  }
  const auto use = std::make_shared<Use>(std::vector{target, source});
  CompletionPointer end;
  const cudaError_t error = StreamTable::instance().enqueue(
      stream,
      [=, device = stream->device()] {
        take_some_time();
        if (const cudaError_t wrong = use->check(device)) return wrong;
        std::memmove(target.view, source.view, bytes);
        return cudaSuccess;
      },
      &end);
  if (error != cudaSuccess) return leave(error);
  // Pageable memory is copied before the call returns.
  const bool is_pageable = target.block == nullptr || source.block == nullptr;
  return leave(is_blocking || is_pageable ? end->await() : cudaSuccess);
}

cudaError_t set(const char* function, void* to, int value, std::size_t bytes, cudaStream_t handle) {
  if (const cudaError_t error = may_use(function)) return leave(error);
  StreamPointer stream;
  if (const cudaError_t error = StreamTable::instance().find(handle, stream)) return leave(error);
  if (const cudaError_t error = may_call(function, stream->device())) return leave(error);
  if (bytes == 0) return cudaSuccess;
  Access target;
  if (const cudaError_t error = resolve_for_kernel(stream->device(), to, bytes, target)) return leave(error);
  const auto use = std::make_shared<Use>(std::vector{target});
  return leave(StreamTable::instance().enqueue(stream, [=, device = stream->device()] {
    take_some_time();
    if (const cudaError_t wrong = use->check(device)) return wrong;
    std::memset(target.view, value, bytes);
    return cudaSuccess;
  }));
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate("cudaMalloc", Kind::device, pointer, bytes);
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int) {
  return allocate("cudaMallocManaged", Kind::managed, pointer, bytes);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate("cudaMallocHost", Kind::pinned, pointer, bytes);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int) {
  return allocate("cudaHostAlloc", Kind::pinned, pointer, bytes);
}

cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t error = may_use("cudaFree")) return leave(error);
  if (pointer == nullptr) return cudaSuccess;
  const BlockPointer block = MemoryTable::instance().find(pointer);
  if (block == nullptr || block->address != reinterpret_cast<std::uintptr_t>(pointer) || is_on_host(block) ||
      block->is_imported) {
    return leave(
        violate(cudaErrorInvalidValue, "cudaFree of " + hexadecimal(pointer) + ", which is not from cudaMalloc"));
  }
  return release(block);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t error = may_use("cudaFreeHost")) return leave(error);
  if (pointer == nullptr) return cudaSuccess;
  const BlockPointer block = MemoryTable::instance().find(pointer);
  if (block == nullptr || block->address != reinterpret_cast<std::uintptr_t>(pointer) || block->kind != Kind::pinned) {
    return leave(violate(cudaErrorInvalidValue, "cudaFreeHost of " + hexadecimal(pointer) + ", which is not pinned"));
  }
  // CUDA does not document that cudaFreeHost() waits for work that uses the memory; some drivers do, and wait for all
  // other work, too.
  if (block->users != 0) (void)violate(cudaErrorInvalidValue, "cudaFreeHost of memory that queued work still uses");
  return release(block);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int) {
  if (const cudaError_t error = may_call("cudaHostRegister")) return leave(error);
  return leave(MemoryTable::instance().register_host(use_current_device(), pointer, bytes));
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (const cudaError_t error = may_use("cudaHostUnregister")) return leave(error);
  const BlockPointer block = MemoryTable::instance().find(pointer);
  if (block == nullptr || block->kind != Kind::registered) return leave(cudaErrorHostMemoryNotRegistered);
  return release(block);
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned int) {
  if (const cudaError_t error = may_use("cudaHostGetDevicePointer")) return leave(error);
  const BlockPointer block = MemoryTable::instance().find(pointer);
  if (block == nullptr || !is_on_host(block)) return leave(cudaErrorInvalidValue);
  *device_pointer = pointer;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (const cudaError_t error = may_use("cudaPointerGetAttributes")) return leave(error);
  *attributes = {};
  const BlockPointer block = MemoryTable::instance().find(pointer);
  if (block == nullptr) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  }
  const bool is_managed = block->kind == Kind::managed;
  attributes->type = is_managed ? cudaMemoryTypeManaged : is_on_host(block) ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  attributes->device = block->device;
  attributes->devicePointer = const_cast<void*>(pointer);
  attributes->hostPointer = is_managed || is_on_host(block) ? const_cast<void*>(pointer) : nullptr;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", to, from, bytes, kind, cudaStreamLegacy, true);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy("cudaMemcpyAsync", to, from, bytes, kind, stream, false);
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return set("cudaMemset", to, value, bytes, cudaStreamLegacy);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return set("cudaMemsetAsync", to, value, bytes, stream);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  if (const cudaError_t error = may_use("cudaIpcGetMemHandle")) return leave(error);
  return leave(MemoryTable::instance().export_block(pointer, *handle));
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  if (const cudaError_t error = may_call("cudaIpcOpenMemHandle")) return leave(error);
  if (flags != cudaIpcMemLazyEnablePeerAccess) return leave(cudaErrorInvalidValue);
  return leave(MemoryTable::instance().import_block(use_current_device(), handle, pointer));
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  if (const cudaError_t error = may_use("cudaIpcCloseMemHandle")) return leave(error);
  const BlockPointer block = MemoryTable::instance().find(pointer);
  if (block == nullptr || !block->is_imported || block->address != reinterpret_cast<std::uintptr_t>(pointer)) {
    return leave(
        violate(cudaErrorInvalidValue, "cudaIpcCloseMemHandle of " + hexadecimal(pointer) + ", which is not open"));
  }
  return release(block);
}
