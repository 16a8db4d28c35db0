#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "fake_cudart.hpp"

namespace tutti::test::fake_cuda {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kArenaBytes = std::size_t{64} << 30;

constexpr std::size_t round_up(std::size_t bytes) noexcept { return (bytes + kPage - 1) / kPage * kPage; }

std::byte* map(std::size_t bytes, int protection, int flags, int file = -1, std::size_t offset = 0) {
  void* address = mmap(nullptr, bytes, protection, flags, file, static_cast<off_t>(offset));
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

std::size_t bytes_past(const Block& block, const void* pointer) noexcept {
  return block.bytes - (reinterpret_cast<std::uintptr_t>(pointer) - block.address);
}

}  // namespace

Arena::Arena(std::size_t bytes)
    : begin_(reinterpret_cast<std::uintptr_t>(map(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE))),
      bytes_(bytes) {}

std::uintptr_t Arena::take(std::size_t bytes) noexcept {
  // An unused page separates the blocks.
  const std::size_t wanted = round_up(bytes) + kPage;
  if (begin_ == 0 || used_ + wanted > bytes_) return 0;
  const std::uintptr_t address = begin_ + used_;
  used_ += wanted;
  return address;
}

bool Arena::holds(const void* pointer) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return begin_ != 0 && address >= begin_ && address < begin_ + bytes_;
}

/// Memory of a device: a sparse file, which other processes can open. The CPU maps all of it at another address.
struct MemoryTable::Bank {
  Bank() : arena(kArenaBytes), file(memfd_create("fake GPU", MFD_CLOEXEC)) {
    if (ftruncate(file, static_cast<off_t>(kArenaBytes)) == 0) {
      view = map(kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file);
    }
  }
  Arena arena;
  int file;
  std::byte* view = nullptr;
};

/// Content of an IPC handle.
struct Exported {
  std::array<char, 8> mark;
  pid_t process;
  int file;
  int device;
  std::size_t offset;
  std::size_t bytes;
};
static_assert(sizeof(Exported) <= sizeof(cudaIpcMemHandle_t));
constexpr std::array<char, 8> kMark = {'f', 'a', 'k', 'e', 'c', 'u', 'd', 'a'};

MemoryTable& MemoryTable::instance() {
  static auto* table = new MemoryTable;
  return *table;
}

MemoryTable::MemoryTable() : imports_(kArenaBytes) {}

MemoryTable::Bank& MemoryTable::bank(int device) {
  auto& slot = banks_[device];
  if (slot == nullptr) slot = std::make_unique<Bank>();
  return *slot;
}

BlockPointer MemoryTable::add(BlockPointer block) { return blocks_[block->address] = std::move(block); }

cudaError_t MemoryTable::allocate(int device, Kind kind, std::size_t bytes, void** pointer) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  auto block = std::make_shared<Block>();
  block->bytes = bytes;
  block->kind = kind;
  block->device = device;
  block->mapped_bytes = round_up(bytes);
  const std::scoped_lock lock(mutex_);
  if (kind == Kind::device) {
    Device& owner = Machine::instance().device(device);
    if (owner.used_bytes + bytes > kDeviceBytes) return cudaErrorMemoryAllocation;
    Bank& memory = bank(device);
    block->address = memory.arena.take(bytes);
    if (block->address == 0 || memory.view == nullptr) return cudaErrorMemoryAllocation;
    block->view = memory.view + (block->address - memory.arena.begin());
    owner.used_bytes += bytes;
    // New memory of a real device is not zero.
    std::memset(block->view, 0xA5, std::min<std::size_t>(bytes, 1 << 20));
  } else {
    block->view = map(block->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    if (block->view == nullptr) return cudaErrorMemoryAllocation;
    block->address = reinterpret_cast<std::uintptr_t>(block->view);
  }
  *pointer = reinterpret_cast<void*>(block->address);
  (void)add(std::move(block));
  return cudaSuccess;
}

cudaError_t MemoryTable::register_host(int device, void* pointer, std::size_t bytes) {
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  if (find(pointer) != nullptr) return cudaErrorHostMemoryAlreadyRegistered;
  auto block = std::make_shared<Block>();
  block->address = reinterpret_cast<std::uintptr_t>(pointer);
  block->view = static_cast<std::byte*>(pointer);
  block->bytes = bytes;
  block->kind = Kind::registered;
  block->device = device;
  const std::scoped_lock lock(mutex_);
  (void)add(std::move(block));
  return cudaSuccess;
}

void MemoryTable::release(const BlockPointer& block) {
  const std::scoped_lock lock(mutex_);
  block->is_freed = true;
  blocks_.erase(block->address);
  if (block->kind == Kind::registered) return;
  if (block->kind != Kind::device || block->is_imported) {
    munmap(block->view, block->mapped_bytes);
    return;
  }
  Bank& memory = bank(block->device);
  Machine::instance().device(block->device).used_bytes -= block->bytes;
  (void)fallocate(memory.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(block->address - memory.arena.begin()), static_cast<off_t>(block->mapped_bytes));
}

cudaError_t MemoryTable::export_block(const void* pointer, cudaIpcMemHandle_t& handle) {
  const BlockPointer block = find(pointer);
  if (block == nullptr || block->kind != Kind::device || block->is_imported) {
    return violate(cudaErrorInvalidValue, hexadecimal(pointer) + " is no device memory to make a handle for");
  }
  const std::scoped_lock lock(mutex_);
  const Bank& memory = bank(block->device);
  const Exported content = {kMark,       getpid(), memory.file, block->device, block->address - memory.arena.begin(),
                            block->bytes};
  handle = {};
  std::memcpy(&handle, &content, sizeof content);
  return cudaSuccess;
}

cudaError_t MemoryTable::import_block(int device, const cudaIpcMemHandle_t& handle, void** pointer) {
  Exported content;
  std::memcpy(&content, &handle, sizeof content);
  if (content.mark != kMark)
    return violate(cudaErrorInvalidValue, "cudaIpcOpenMemHandle got bytes that are not a handle");
  if (content.process == getpid()) return cudaErrorDeviceUninitialized;
  if (content.device != device && !Machine::may_be_peers()) return cudaErrorPeerAccessUnsupported;
  const std::string path = "/proc/" + std::to_string(content.process) + "/fd/" + std::to_string(content.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return cudaErrorMapBufferObjectFailed;
  auto block = std::make_shared<Block>();
  block->bytes = content.bytes;
  block->device = device;
  block->is_imported = true;
  block->mapped_bytes = round_up(content.bytes);
  block->view = map(block->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, content.offset);
  close(file);
  if (block->view == nullptr) return cudaErrorMapBufferObjectFailed;
  const std::scoped_lock lock(mutex_);
  block->source = path + "+" + std::to_string(content.offset) + "@" + std::to_string(device);
  for (const auto& [address, other] : blocks_) {
    if (other->source != block->source) continue;
    // Some drivers count the openings, others refuse the second: a portable program opens a handle once.
    munmap(block->view, block->mapped_bytes);
    return violate(cudaErrorAlreadyMapped, "cudaIpcOpenMemHandle opened a handle for the second time");
  }
  block->address = imports_.take(content.bytes);
  *pointer = reinterpret_cast<void*>(block->address);
  (void)add(std::move(block));
  return cudaSuccess;
}

BlockPointer MemoryTable::find(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::scoped_lock lock(mutex_);
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  const BlockPointer& block = std::prev(next)->second;
  return address < block->address + block->bytes ? block : nullptr;
}

bool MemoryTable::is_device_address(const void* pointer) {
  const std::scoped_lock lock(mutex_);
  if (imports_.holds(pointer)) return true;
  for (const auto& [device, memory] : banks_) {
    if (memory->arena.holds(pointer)) return true;
  }
  return false;
}

cudaError_t resolve_for_copy(const void* pointer, std::size_t bytes, Access& access) {
  MemoryTable& table = MemoryTable::instance();
  access.block = table.find(pointer);
  if (access.block == nullptr) {
    if (table.is_device_address(pointer)) {
      return violate(cudaErrorInvalidValue, "a copy uses " + hexadecimal(pointer) + ", freed or no memory of a device");
    }
    access.view = static_cast<std::byte*>(const_cast<void*>(pointer));
    return cudaSuccess;
  }
  if (bytes > bytes_past(*access.block, pointer)) {
    return violate(cudaErrorInvalidValue,
                   "a copy of " + std::to_string(bytes) + " bytes goes past the end of an allocation");
  }
  access.view = access.block->view_of(pointer);
  return cudaSuccess;
}

cudaError_t resolve_for_kernel(int device, const void* pointer, std::size_t bytes, Access& access) {
  const auto refuse = [&](const std::string& what) {
    return violate_on(device, cudaErrorIllegalAddress,
                      "device " + std::to_string(device) + " uses " + hexadecimal(pointer) + ", " + what);
  };
  access.block = MemoryTable::instance().find(pointer);
  if (access.block == nullptr) return refuse("which is freed or ordinary host memory");
  if (bytes > bytes_past(*access.block, pointer)) return refuse("past the end of its allocation");
  const int owner = access.block->device;
  if (access.block->kind == Kind::device && owner != device && !Machine::instance().is_peer(device, owner)) {
    return refuse("memory of device " + std::to_string(owner) + " without peer access");
  }
  access.view = access.block->view_of(pointer);
  return cudaSuccess;
}

}  // namespace tutti::test::fake_cuda

using namespace tutti::test::fake_cuda;

void* fake_cuda_host_view(const void* pointer) {
  if (const BlockPointer block = MemoryTable::instance().find(pointer)) return block->view_of(pointer);
  return MemoryTable::instance().is_device_address(pointer) ? nullptr : const_cast<void*>(pointer);
}
