// The functions of the C library that stand in front of the allocator: same names, same behaviour.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/interpose/real_function.hpp"
#include "sources/memory/memory_source.hpp"
#include "sources/memory/start_arena.hpp"

#define TUTTI_WATCHED extern "C" __attribute__((visibility("default")))
#define TUTTI_CALLER __builtin_return_address(0)

namespace {

using namespace tutti::profiling;
using namespace tutti::profiling::memory;
using tutti::interpose::RealFunction;

constinit StartArena arena;

constinit RealFunction<void* (*)(std::size_t)> real_malloc("malloc");
constinit RealFunction<void* (*)(std::size_t, std::size_t)> real_calloc("calloc");
constinit RealFunction<void* (*)(void*, std::size_t)> real_realloc("realloc");
constinit RealFunction<void (*)(void*)> real_free("free");
constinit RealFunction<int (*)(void**, std::size_t, std::size_t)> real_posix_memalign("posix_memalign");
constinit RealFunction<void* (*)(std::size_t, std::size_t)> real_aligned_alloc("aligned_alloc");
constinit RealFunction<void* (*)(std::size_t, std::size_t)> real_memalign("memalign");
constinit RealFunction<void* (*)(void*, std::size_t, int, int, int, off_t)> real_mmap("mmap");
constinit RealFunction<int (*)(void*, std::size_t)> real_munmap("munmap");

/// Anonymous mappings of at least this size are memory of a program; smaller ones are the loader's and threads' own.
constexpr std::size_t kSmallestMapping = 64 << 10;

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

/// Calls `function` and records the block that it returns.
template <typename Function, typename... Arguments>
void* watch(Function function, std::size_t bytes, const void* code, Arguments... arguments) noexcept {
  if (!is_watching()) return function(arguments...);
  void* block = nullptr;
  {
    const InsideAllocator inside;
    block = function(arguments...);
  }
  allocated(block, bytes, code);
  return block;
}

}  // namespace

TUTTI_WATCHED void* malloc(std::size_t bytes) {
  const auto real = real_malloc.get();
  if (real == nullptr) [[unlikely]]
    return arena.allocate(bytes);
  return watch(real, bytes, TUTTI_CALLER, bytes);
}

TUTTI_WATCHED void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return no_memory();
  const auto real = real_calloc.get();
  if (real == nullptr) [[unlikely]]
    return arena.allocate(bytes);
  return watch(real, bytes, TUTTI_CALLER, count, size);
}

TUTTI_WATCHED void free(void* block) {
  if (block == nullptr || arena.owns(block)) return;
  const auto real = real_free.get();
  if (real == nullptr) return;  // only memory of the arena is there before the real functions are known
  if (!is_watching()) return real(block);
  Release release(block);
  {
    const InsideAllocator inside;
    real(block);
  }
  release.commit();
}

TUTTI_WATCHED void* realloc(void* block, std::size_t bytes) {
  const auto real = real_realloc.get();
  if (real == nullptr || arena.owns(block)) [[unlikely]] {
    void* copy = real == nullptr ? arena.allocate(bytes) : malloc(bytes);
    if (copy != nullptr && block != nullptr) std::memcpy(copy, block, std::min(bytes, StartArena::size_of(block)));
    return copy;
  }
  if (!is_watching()) return real(block, bytes);
  if (block == nullptr) return watch(real, bytes, TUTTI_CALLER, block, bytes);
  Release release(block);
  void* moved = nullptr;
  {
    const InsideAllocator inside;
    moved = real(block, bytes);
  }
  // Of size 0: released. Else null means that the block is still there.
  moved == nullptr&& bytes != 0 ? release.undo() : release.commit();
  allocated(moved, bytes, TUTTI_CALLER);
  return moved;
}

TUTTI_WATCHED void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return no_memory();
  const CallerScope scope(TUTTI_CALLER);
  return realloc(block, bytes);
}

TUTTI_WATCHED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  const auto real = real_posix_memalign.get();
  if (real == nullptr) return ENOMEM;
  if (!is_watching()) return real(block, alignment, bytes);
  int result = 0;
  {
    const InsideAllocator inside;
    result = real(block, alignment, bytes);
  }
  if (result == 0) allocated(*block, bytes, TUTTI_CALLER);
  return result;
}

TUTTI_WATCHED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const auto real = real_aligned_alloc.get();
  return real == nullptr ? no_memory() : watch(real, bytes, TUTTI_CALLER, alignment, bytes);
}

TUTTI_WATCHED void* memalign(std::size_t alignment, std::size_t bytes) {
  const auto real = real_memalign.get();
  return real == nullptr ? no_memory() : watch(real, bytes, TUTTI_CALLER, alignment, bytes);
}

TUTTI_WATCHED void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  const auto real = real_mmap.get();
  if (real == nullptr) [[unlikely]]
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
  void* mapped = real(address, bytes, protection, flags, file, offset);
  // Address space without access is no memory yet.
  const bool is_memory = (flags & MAP_ANONYMOUS) != 0 && protection != PROT_NONE && bytes >= kSmallestMapping;
  if (is_memory && mapped != MAP_FAILED && is_watching()) allocated(mapped, bytes, TUTTI_CALLER);
  return mapped;
}

TUTTI_WATCHED void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                           off64_t offset) noexcept __attribute__((alias("mmap")));

TUTTI_WATCHED int munmap(void* address, std::size_t bytes) noexcept {
  const auto real = real_munmap.get();
  if (real == nullptr) [[unlikely]]
    return static_cast<int>(syscall(SYS_munmap, address, bytes));
  if (!is_watching()) return real(address, bytes);
  Release release(address);
  const int result = real(address, bytes);
  result == 0 ? release.commit() : release.undo();
  return result;
}
