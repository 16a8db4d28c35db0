// mmap() and the functions that change mappings. Large anonymous mappings are shared until the program changes a part
// of their pages; then they become private memory, which behaves as it expects. What tutti does with its own mappings
// is not looked at: it changes those of the blocks itself, for example in the child of a fork().
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/interpose/own_caller.hpp"
#include "base/interpose/real_function.hpp"
#include "shared_blocks.hpp"

namespace {

using tutti::adapters::mpi::BlockOrigin;
using tutti::adapters::mpi::part_shared_blocks;
using tutti::interpose::is_own_caller;
using tutti::interpose::RealFunction;

using Map = void* (*)(void*, std::size_t, int, int, int, off_t);
constinit RealFunction<Map> real_mmap{"mmap"};
constinit RealFunction<int (*)(void*, std::size_t)> real_munmap{"munmap"};
constinit RealFunction<void* (*)(void*, std::size_t, std::size_t, int, void*)> real_mremap{"mremap"};
constinit RealFunction<int (*)(void*, std::size_t, int)> real_madvise{"madvise"};

constinit RealFunction<int (*)(void*, std::size_t, int)> real_mprotect{"mprotect"};

/// The beginning of a function as it was when this library was loaded. Open MPI and UCX watch mappings by jumps that
/// they write into the functions which programs call, when MPI begins or at any time later; then those below are not
/// reached any more. To write there they ask mprotect() for it first.
class Watched {
 public:
  explicit Watched(const void* function) noexcept : function_(function) {
    std::memcpy(code_.data(), function, code_.size());
  }
  [[nodiscard]] bool is_changed() const noexcept { return std::memcmp(code_.data(), function_, code_.size()) != 0; }
  [[nodiscard]] bool is_in(const void* data, std::size_t bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const auto place = reinterpret_cast<std::uintptr_t>(function_);
    return place != 0 && place + code_.size() > begin && place < begin + bytes;
  }

 private:
  const void* function_;
  std::array<unsigned char, 16> code_{};
};

template <typename Function>
Watched watch(Function* function) noexcept {
  return Watched(reinterpret_cast<const void*>(function));
}

const Watched watched[] = {watch(&munmap), watch(&mremap), watch(&madvise)};

/// Set when another library is about to write into a watched function.
constinit std::atomic<bool> is_to_change{false};

/// Whether mappings may be shared: all changes of them come through here.
bool sees_changes() noexcept {
  if (is_to_change.load(std::memory_order_acquire)) return false;
  return std::none_of(std::begin(watched), std::end(watched), [](const Watched& one) { return one.is_changed(); });
}

/// Memory as malloc() gives it: anything that asks for more is left to the system.
bool is_plain(const void* address, int protection, int flags) noexcept {
  return address == nullptr && protection == (PROT_READ | PROT_WRITE) && flags == (MAP_PRIVATE | MAP_ANONYMOUS);
}

/// Whether the advice changes the content of private pages in a way that shared pages do not know.
bool changes_content(int advice) noexcept {
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == MADV_WIPEONFORK ||
         advice == MADV_DONTFORK;
}

void* map(const void* caller, void* address, std::size_t bytes, int protection, int flags, int descriptor,
          off_t offset) noexcept {
  if (is_plain(address, protection, flags) && tutti::adapters::mpi::wants_shared_block(bytes) &&
      !is_own_caller(caller) && sees_changes()) {
    const int saved_errno = errno;
    void* const shared = tutti::adapters::mpi::make_shared_block(bytes, BlockOrigin::mapping);
    errno = saved_errno;
    if (shared != nullptr) return shared;
  }
  if ((flags & MAP_FIXED) != 0 && !is_own_caller(caller)) part_shared_blocks(address, bytes);
  const auto next = real_mmap.get();
  if (next != nullptr) return next(address, bytes, protection, flags, descriptor, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

/// While the changes of mappings are still seen: afterwards the program may free or replace one that is taken for
/// shared.
void stop_sharing() noexcept {
  // Release: a thread that sees it does not share what part_shared_mappings() may have passed by.
  is_to_change.store(true, std::memory_order_release);
  tutti::adapters::mpi::part_shared_mappings();
}

}  // namespace

extern "C" {

/// Makes all shared mappings private if their changes are not seen any more. The adapter calls it when MPI has begun.
[[gnu::visibility("default")]] void tutti_check_shared_mappings() {
  if (!sees_changes()) tutti::adapters::mpi::part_shared_mappings();
}

[[gnu::visibility("default")]] void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor,
                                          off_t offset) noexcept {
  return map(__builtin_return_address(0), address, bytes, protection, flags, descriptor, offset);
}

// The same function where off_t has 64 bits.
[[gnu::visibility("default")]] void* mmap64(void* address, std::size_t bytes, int protection, int flags, int descriptor,
                                            off64_t offset) noexcept {
  return map(__builtin_return_address(0), address, bytes, protection, flags, descriptor, offset);
}

[[gnu::visibility("default")]] int munmap(void* address, std::size_t bytes) noexcept {
  if (!TUTTI_CALLED_BY_TUTTI()) {
    constexpr std::size_t kPage = tutti::adapters::mpi::kSharedPage;
    const std::size_t block = tutti::adapters::mpi::shared_block_size(address, BlockOrigin::mapping);
    const bool is_all = block != 0 && (block + kPage - 1) / kPage == (bytes + kPage - 1) / kPage;
    if (is_all && tutti::adapters::mpi::free_shared_block(address, BlockOrigin::mapping)) return 0;
    part_shared_blocks(address, bytes);
  }
  const auto next = real_munmap.get();
  return next == nullptr ? -1 : next(address, bytes);
}

[[gnu::visibility("default")]] void* mremap(void* address, std::size_t before, std::size_t after, int flags,
                                            ...) noexcept {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list words;
    va_start(words, flags);
    target = va_arg(words, void*);
    va_end(words);
  }
  if (!TUTTI_CALLED_BY_TUTTI()) {
    part_shared_blocks(address, before);
    if (target != nullptr) part_shared_blocks(target, after);
  }
  const auto next = real_mremap.get();
  return next == nullptr ? MAP_FAILED : next(address, before, after, flags, target);
}

[[gnu::visibility("default")]] int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if (changes_content(advice) && !TUTTI_CALLED_BY_TUTTI()) part_shared_blocks(address, bytes);
  const auto next = real_madvise.get();
  return next == nullptr ? -1 : next(address, bytes, advice);
}

[[gnu::visibility("default")]] int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  const auto is_asked_for = [&](const Watched& one) { return one.is_in(address, bytes); };
  if ((protection & PROT_WRITE) != 0 && std::any_of(std::begin(watched), std::end(watched), is_asked_for))
    stop_sharing();
  const auto next = real_mprotect.get();
  return next == nullptr ? -1 : next(address, bytes, protection);
}

}  // extern "C"
