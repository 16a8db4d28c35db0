#pragma once

#include <cstddef>

/// Accounting of host memory, called by the functions that stand in front of the allocator.
namespace tutti::profiling::memory {

/// Whether allocations of this thread are to be recorded now; false while the recorder or a watched function is at work
/// in this thread.
[[nodiscard]] bool is_watching() noexcept;

/// Around the real function: memory that an allocator takes from another, as from mmap(), is not counted twice.
class InsideAllocator {
 public:
  InsideAllocator() noexcept;
  ~InsideAllocator();
  InsideAllocator(const InsideAllocator&) = delete;
  InsideAllocator& operator=(const InsideAllocator&) = delete;
};

/// A block was allocated. `code`: the caller's return address. Keeps errno.
void allocated(const void* block, std::size_t bytes, const void* code) noexcept;

/// Bytes and owner of a block that is about to be released or moved. Removed from the table first: as soon as the
/// memory is free, another thread can get the same address.
class Release {
 public:
  explicit Release(const void* block) noexcept;
  /// Records the release.
  void commit() noexcept;
  /// Puts the block back: it was not released.
  void undo() noexcept;

 private:
  const void* block_;
  std::size_t bytes_ = 0;
  unsigned owner_ = 0;  ///< 0: the block is not known
};

/// While it exists, memory that this thread allocates belongs to the caller of an operator new, not to the C++ library.
class CallerScope {
 public:
  explicit CallerScope(const void* code) noexcept;
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  bool is_outermost_;
};

}  // namespace tutti::profiling::memory
