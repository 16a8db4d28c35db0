#include "cuda_memory.hpp"

#include <algorithm>
#include <utility>

#include "tutti/error.hpp"

namespace tutti::cuda_device {

MemoryBook::Closed::Closed(MemoryBook& book) : book_(book) {
  const std::scoped_lock lock(book_.mutex_);
  ++book_.closed_gates_;
}

void MemoryBook::Closed::end() noexcept {
  if (std::exchange(is_ended_, true)) return;
  const std::scoped_lock lock(book_.mutex_);
  --book_.closed_gates_;
}

void* MemoryBook::allocate(int device, MemoryKind kind, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  {
    const std::scoped_lock lock(mutex_);
    give_back_noted();
  }
  const ContextScope scope(api_, contexts_, device);
  void* pointer = nullptr;
  switch (kind) {
    case MemoryKind::host:
      api_.call(&Api::host_alloc, &pointer, bytes, unsigned{cudaHostAllocPortable});
      break;
    case MemoryKind::device:
      api_.call(&Api::malloc, &pointer, bytes);
      break;
    case MemoryKind::shared:
      api_.call(&Api::malloc_managed, &pointer, bytes, unsigned{cudaMemAttachGlobal});
      break;
  }
  const std::scoped_lock lock(mutex_);
  kinds_[pointer] = kind;
  return pointer;
}

void MemoryBook::release(int device, void* pointer) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto known = kinds_.find(pointer);
  if (known == kinds_.end()) return;
  noted_.push_back({device, pointer, known->second == MemoryKind::host ? &Api::free_host : &Api::free});
  kinds_.erase(known);
  give_back_noted();
}

void MemoryBook::close(int device, void* opened) noexcept {
  const std::scoped_lock lock(mutex_);
  noted_.push_back({device, opened, &Api::ipc_close_mem_handle});
  give_back_noted();
}

bool MemoryBook::is_noted(const void* opened) noexcept {
  const std::scoped_lock lock(mutex_);
  return std::ranges::find(noted_, opened, &Entry::pointer) != noted_.end();
}

bool MemoryBook::reopen(const void* opened) noexcept {
  const std::scoped_lock lock(mutex_);
  return std::erase_if(noted_, [&](const Entry& entry) { return entry.pointer == opened; }) != 0;
}

void MemoryBook::give_back_noted() noexcept {
  if (closed_gates_ != 0) return;
  for (const Entry& entry : std::exchange(noted_, {})) give_back(entry);
}

void MemoryBook::give_back(const Entry& entry) noexcept {
  try {
    const ContextScope scope(api_, contexts_, entry.device);
    api_.call(entry.how, entry.pointer);
  } catch (const Error&) {  // NOLINT: the caller cannot handle it
  }
}

}  // namespace tutti::cuda_device
