#include "support/allocation_counter.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> count{0};
constinit thread_local std::uint64_t left_until_failure = 0;

void* take(std::size_t bytes, std::size_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (left_until_failure != 0 && --left_until_failure == 0) throw std::bad_alloc();
  const std::size_t wanted = bytes != 0 ? bytes : 1;
  const std::size_t rounded = (wanted + alignment - 1) / alignment * alignment;
  void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(wanted);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// The standard library defines the other forms in terms of these. A sanitizer does not: it has its own form that does
// not throw.
void* operator new(std::size_t bytes) { return take(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return take(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tutti::test {
std::uint64_t allocation_count() noexcept { return count.load(std::memory_order_relaxed); }

FailingAllocation::FailingAllocation(std::uint64_t number, bool& has_failed) noexcept
    : number_(number), has_failed_(has_failed) {
  left_until_failure = number;
}
FailingAllocation::~FailingAllocation() {
  has_failed_ = number_ != 0 && left_until_failure == 0;
  left_until_failure = 0;
}
}  // namespace tutti::test
