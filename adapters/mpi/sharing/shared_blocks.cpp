#include "shared_blocks.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>

#include "tutti/allocate.hpp"
#include "tutti/config.hpp"
#include "tutti/share.hpp"

namespace tutti::adapters::mpi {
namespace {

// Blocks from this size are shared; none before the library is initialised.
constinit std::atomic<std::size_t> least{~std::size_t{0}};
// For the report of the adapter.
constinit std::atomic<std::uint64_t> made{0};
constinit std::atomic<std::uint64_t> refused{0};
constinit thread_local bool is_at_work = false;

/// Marks this thread as busy here: memory that it needs for that comes from the heap.
class AtWork {
 public:
  AtWork() noexcept { is_at_work = true; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  ~AtWork() { is_at_work = false; }
};

/// A block. `begin` is the last member that is written, and the first that is cleared.
struct Block {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<BlockOrigin> origin{BlockOrigin::heap};
  std::atomic<bool> is_private{false};  ///< no longer in the file
};
constexpr std::uintptr_t kFree = 0;
constexpr std::uintptr_t kReserved = 1;  // no address of a block
// As many as tutti shares at a time.
constinit std::array<Block, 1024> blocks{};
// Number of entries that were ever in use.
constinit std::atomic<std::size_t> used{0};

Block* reserve() noexcept {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::uintptr_t expected = kFree;
    if (!blocks[i].begin.compare_exchange_strong(expected, kReserved, std::memory_order_acq_rel)) continue;
    std::size_t before = used.load(std::memory_order_relaxed);
    while (before <= i && !used.compare_exchange_weak(before, i + 1, std::memory_order_release)) {
    }
    return &blocks[i];
  }
  return nullptr;
}

template <typename Visit>
void for_each_block(const Visit& visit) noexcept {
  const std::size_t end = used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < end; ++i) {
    const std::uintptr_t begin = blocks[i].begin.load(std::memory_order_acquire);
    if (begin > kReserved) visit(blocks[i], begin);
  }
}

Block* find(const void* data, BlockOrigin origin) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(data);
  if (wanted == 0 || wanted % kSharedPage != 0) return nullptr;
  const std::size_t end = used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < end; ++i)
    if (blocks[i].begin.load(std::memory_order_acquire) == wanted && blocks[i].origin == origin) return &blocks[i];
  return nullptr;
}

void part(Block& block, std::uintptr_t begin) noexcept {
  if (block.is_private) return;
  const AtWork mark;
  detail::unshare(reinterpret_cast<void*>(begin));
  block.is_private = true;
  if (block.origin == BlockOrigin::mapping) block.begin.store(kFree, std::memory_order_release);
}

/// Begins when this library is loaded.
struct Switch {
  Switch() noexcept {
    try {
      if (Config().flag("TUTTI_PRELOAD_SHARE")) least = kLeastSharedBlock;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tutti: memory is not shared: %s\n", error.what());
    }
  }
};
const Switch begin_sharing;

}  // namespace

bool wants_shared_block(std::size_t bytes) noexcept {
  return bytes >= least.load(std::memory_order_relaxed) && !is_at_work;
}

void* make_shared_block(std::size_t bytes, BlockOrigin origin) noexcept {
  const AtWork mark;
  Block* const block = reserve();
  if (block == nullptr) {
    refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  try {
    void* const data = detail::allocate_shared(bytes);
    block->bytes = bytes;
    block->origin = origin;
    block->is_private = false;
    block->begin.store(reinterpret_cast<std::uintptr_t>(data), std::memory_order_release);
    made.fetch_add(1, std::memory_order_relaxed);
    return data;
  } catch (const std::exception&) {
    // Ordinary memory may be there: not all of it is populated at once.
    block->begin.store(kFree, std::memory_order_release);
    refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
}

std::size_t shared_block_size(const void* data, BlockOrigin origin) noexcept {
  const Block* const block = find(data, origin);
  return block == nullptr ? 0 : block->bytes.load();
}

bool free_shared_block(void* data, BlockOrigin origin) noexcept {
  Block* const block = find(data, origin);
  if (block == nullptr) return false;
  const AtWork mark;
  const std::size_t bytes = block->bytes;
  const bool is_private = block->is_private;
  // First: another thread may get the same address as soon as it is free.
  block->begin.store(kFree, std::memory_order_release);
  if (is_private) {
    (void)munmap(data, (bytes + kSharedPage - 1) / kSharedPage * kSharedPage);
  } else {
    detail::free_shared(data);
  }
  return true;
}

void part_shared_blocks(const void* data, std::size_t bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  for_each_block([&](Block& block, std::uintptr_t begin) {
    const bool is_touched = begin < first + bytes && first < begin + block.bytes;
    if (is_touched) part(block, begin);
  });
}

void part_shared_mappings() noexcept {
  for_each_block([](Block& block, std::uintptr_t begin) {
    if (block.origin == BlockOrigin::mapping) part(block, begin);
  });
}

}  // namespace tutti::adapters::mpi

/// Numbers of blocks that were shared, that became ordinary memory instead, and that are there now; the adapter shows
/// them.
extern "C" [[gnu::visibility("default")]] void tutti_shared_blocks(std::uint64_t* shared, std::uint64_t* ordinary,
                                                                   std::uint64_t* present) {
  using namespace tutti::adapters::mpi;
  *shared = made.load(std::memory_order_relaxed);
  *ordinary = refused.load(std::memory_order_relaxed);
  *present = 0;
  for_each_block([&](const Block& block, std::uintptr_t) { *present += block.is_private ? 0 : 1; });
}
