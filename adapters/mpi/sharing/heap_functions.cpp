// malloc() and its relatives: large blocks are shared, the others come from the program's own heap.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/interpose/real_function.hpp"
#include "shared_blocks.hpp"

namespace {

using tutti::adapters::mpi::BlockOrigin;
using tutti::adapters::mpi::kSharedPage;
using tutti::interpose::RealFunction;

constinit RealFunction<void* (*)(std::size_t)> real_malloc{"malloc"};
constinit RealFunction<void* (*)(std::size_t, std::size_t)> real_calloc{"calloc"};
constinit RealFunction<void* (*)(void*, std::size_t)> real_realloc{"realloc"};
constinit RealFunction<void (*)(void*)> real_free{"free"};
constinit RealFunction<void* (*)(std::size_t, std::size_t)> real_memalign{"memalign"};
constinit RealFunction<void* (*)(std::size_t, std::size_t)> real_aligned_alloc{"aligned_alloc"};
constinit RealFunction<int (*)(void**, std::size_t, std::size_t)> real_posix_memalign{"posix_memalign"};
constinit RealFunction<std::size_t (*)(void*)> real_usable_size{"malloc_usable_size"};

/// Null: the block is to come from the heap.
void* shared_block(std::size_t bytes) noexcept {
  if (!tutti::adapters::mpi::wants_shared_block(bytes)) [[likely]]
    return nullptr;
  const int saved_errno = errno;
  void* const data = tutti::adapters::mpi::make_shared_block(bytes, BlockOrigin::heap);
  errno = saved_errno;
  return data;
}

bool is_power_of_two(std::size_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }

/// As above, aligned.
void* shared_block(std::size_t alignment, std::size_t bytes) noexcept {
  return is_power_of_two(alignment) && alignment <= kSharedPage ? shared_block(bytes) : nullptr;
}

/// Only pages can be blocks; most other addresses are told apart by this alone.
bool may_be_shared(const void* data) noexcept {
  return data != nullptr && reinterpret_cast<std::uintptr_t>(data) % kSharedPage == 0;
}

std::size_t shared_size(const void* data) noexcept {
  return may_be_shared(data) ? tutti::adapters::mpi::shared_block_size(data, BlockOrigin::heap) : 0;
}

template <typename Result, typename... Words>
Result* pass_on(RealFunction<Result* (*)(Words...)>& real, Words... words) noexcept {
  const auto next = real.get();
  if (next != nullptr) return next(words...);
  errno = ENOMEM;  // a call that the search for the function makes
  return nullptr;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept {
  void* const shared = shared_block(bytes);
  return shared != nullptr ? shared : pass_on(real_malloc, bytes);
}

[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t size) noexcept {
  const bool fits = size == 0 || count <= std::numeric_limits<std::size_t>::max() / size;
  void* const shared = fits ? shared_block(count * size) : nullptr;
  return shared != nullptr ? shared : pass_on(real_calloc, count, size);
}

[[gnu::visibility("default")]] void free(void* data) noexcept {
  if (may_be_shared(data)) {
    const int saved_errno = errno;
    const bool was_shared = tutti::adapters::mpi::free_shared_block(data, BlockOrigin::heap);
    errno = saved_errno;
    if (was_shared) return;
  }
  if (const auto next = real_free.get(); next != nullptr) next(data);
}

[[gnu::visibility("default")]] void* realloc(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return malloc(bytes);
  const std::size_t before = shared_size(data);
  if (before == 0) return pass_on(real_realloc, data, bytes);
  if (bytes == 0) {
    free(data);
    return nullptr;
  }
  void* const moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, data, before < bytes ? before : bytes);
  free(data);
  return moved;
}

[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* const shared = shared_block(alignment, bytes);
  return shared != nullptr ? shared : pass_on(real_memalign, alignment, bytes);
}

[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* const shared = shared_block(alignment, bytes);
  return shared != nullptr ? shared : pass_on(real_aligned_alloc, alignment, bytes);
}

[[gnu::visibility("default")]] int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment % sizeof(void*) == 0) {
    if (void* const shared = shared_block(alignment, bytes); shared != nullptr) {
      *data = shared;
      return 0;
    }
  }
  const auto next = real_posix_memalign.get();
  return next == nullptr ? ENOMEM : next(data, alignment, bytes);
}

[[gnu::visibility("default")]] std::size_t malloc_usable_size(void* data) noexcept {
  if (const std::size_t bytes = shared_size(data); bytes != 0) return bytes;
  const auto next = real_usable_size.get();
  return next == nullptr ? 0 : next(data);
}

}  // extern "C"
