#include "cuda_sharing.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "tutti/error.hpp"

namespace tutti::cuda_device {

namespace {

std::uint64_t random_number() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace

/// Content of a handle.
struct Sharing::Wire {
  std::array<char, 8> mark;
  std::uint64_t process;
  std::uint64_t pointer;
  std::uint64_t offset;
  std::uint64_t device;
  std::uint64_t allocation;
  Bytes handle;

  static constexpr std::array<char, 8> kMark = {'t', 'u', 't', 't', 'i', 'c', 'u', '1'};
};

Sharing::Sharing(const Api& api, Contexts& contexts, MemoryBook& memory)
    : api_(api), contexts_(contexts), memory_(memory), process_(random_number()) {}

spi::IpcHandle Sharing::export_memory(Device device, void* pointer) {
  const ContextScope scope(api_, contexts_, device.index());
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  Wire wire = {};
  try {
    api_.call(&Api::mem_get_address_range, &base, &bytes, reinterpret_cast<CUdeviceptr>(pointer));
    unsigned long long number = 0;
    api_.call(&Api::pointer_get_attribute, static_cast<void*>(&number), CU_POINTER_ATTRIBUTE_BUFFER_ID, base);
    wire.allocation = number;
    cudaIpcMemHandle_t handle;
    api_.call(&Api::ipc_get_mem_handle, &handle, reinterpret_cast<void*>(base));
    std::memcpy(wire.handle.data(), &handle, sizeof handle);
  } catch (const Error& error) {
    // Managed memory, pinned memory and memory of pools has no handle.
    throw Error(ErrorCode::unsupported,
                "this memory on " + device.name() +
                    " cannot be shared with other processes; only memory from cudaMalloc can: " + error.what(),
                "cuda", error.vendor_code());
  }
  wire.mark = Wire::kMark;
  wire.process = process_;
  wire.pointer = reinterpret_cast<std::uintptr_t>(pointer);
  wire.offset = wire.pointer - base;
  wire.device = static_cast<std::uint64_t>(device.index());
  spi::IpcHandle result(sizeof wire);
  std::memcpy(result.data(), &wire, sizeof wire);
  return result;
}

void* Sharing::import_memory(Device device, std::span<const std::byte> handle) {
  Wire wire = {};
  if (handle.size() == sizeof wire) std::memcpy(&wire, handle.data(), sizeof wire);
  if (wire.mark != Wire::kMark) {
    throw Error(ErrorCode::invalid_argument, "these bytes are not a memory handle made by tutti's cuda module", "cuda");
  }
  if (wire.process == process_) {
    if (static_cast<int>(wire.device) != device.index()) make_peer(device, static_cast<int>(wire.device));
    return reinterpret_cast<void*>(wire.pointer);
  }
  const std::scoped_lock lock(mutex_);
  const auto opening = open(device.index(), wire);
  ++opening->users;
  void* result = opening->base + wire.offset;
  imported_.emplace(result, opening);
  return result;
}

std::list<Sharing::Opening>::iterator Sharing::open(int device, const Wire& wire) {
  std::erase_if(openings_,
                [&](const Opening& opening) { return opening.users == 0 && !memory_.is_noted(opening.base); });
  auto opening = std::ranges::find_if(
      openings_, [&](const Opening& known) { return known.handle == wire.handle && known.device == device; });
  if (opening != openings_.end() && opening->allocation != wire.allocation) {
    throw Error(ErrorCode::unsupported,
                "the IPC handle is still mapped on CUDA device " + std::to_string(device) +
                    " for memory that has been freed; retry after the streams of the device have drained",
                "cuda");
  }
  if (opening != openings_.end() && opening->users == 0 && !memory_.reopen(opening->base)) {
    openings_.erase(opening);  // closed since is_noted()
    opening = openings_.end();
  }
  if (opening != openings_.end()) return opening;
  const ContextScope scope(api_, contexts_, device);
  cudaIpcMemHandle_t opaque;
  std::memcpy(&opaque, wire.handle.data(), sizeof opaque);
  void* base = nullptr;
  api_.call(&Api::ipc_open_mem_handle, &base, opaque, unsigned{cudaIpcMemLazyEnablePeerAccess});
  return openings_.insert(opening, {wire.handle, wire.allocation, device, static_cast<std::byte*>(base), 0});
}

void Sharing::close_memory(void* imported) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto known = imported_.find(imported);
  if (known == imported_.end()) return;  // memory of this process
  const auto opening = known->second;
  imported_.erase(known);
  if (--opening->users != 0) return;
  memory_.close(opening->device, opening->base);
}

void Sharing::make_peer(Device device, int of) {
  int can = 0;
  api_.call(&Api::device_can_access_peer, &can, device.index(), of);
  if (can == 0) {
    throw Error(ErrorCode::unsupported,
                device.name() + " cannot access memory of " +
                    Device(device.module(), static_cast<std::int16_t>(of)).name() + " (cudaDeviceCanAccessPeer)",
                "cuda");
  }
  const ContextScope scope(api_, contexts_, device.index());
  const cudaError_t result = api_.device_enable_peer_access(of, 0U);
  if (result == cudaErrorPeerAccessAlreadyEnabled) {
    (void)api_.get_last_error();
  } else if (result != cudaSuccess) {
    api_.fail(api_.device_enable_peer_access.name(), result);
  }
}

}  // namespace tutti::cuda_device
