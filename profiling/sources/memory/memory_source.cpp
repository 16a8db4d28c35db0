#include "sources/memory/memory_source.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "session/recorder.hpp"
#include "sources/memory/block_table.hpp"
#include "sources/memory/owners.hpp"

namespace tutti::profiling::memory {
namespace {

constinit BlockTable table;
/// The session asks for this source. Set once, before main().
constinit std::atomic<bool> wanted{false};
constinit std::atomic<SourceId> source{0};

/// Placed by the linker (-ftls-model=initial-exec): a first use in a thread must not allocate.
constinit thread_local bool busy = false;
constinit thread_local const void* caller = nullptr;

class Busy {
 public:
  Busy() noexcept : saved_errno_(errno) { busy = true; }
  ~Busy() {
    busy = false;
    errno = saved_errno_;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  int saved_errno_;
};

SourceId source_id() noexcept {
  // Relaxed: the number alone matters. 0 as long as there is no session.
  SourceId id = source.load(std::memory_order_relaxed);
  if (id == 0) {
    id = add_source("BACKEND_MEMORY", 10);
    source.store(id, std::memory_order_relaxed);
  }
  return id;
}

void record_block(Kind kind, std::uint64_t bytes, std::uint32_t owner) noexcept {
  const std::uint64_t now = now_ns();
  record({.kind = kind,
          .source = source_id(),
          .name = owner,
          .context = current_context(),
          .begin_ns = now,
          .end_ns = now,
          .bytes = bytes});
}

__attribute__((constructor)) void load() noexcept {
  if (!source_wanted("memory")) return;
  // A thread that is inside the table would leave it locked in the child. Handlers of others may allocate meanwhile.
  pthread_atfork(
      [] {
        busy = true;
        table.lock_all();
      },
      [] {
        table.unlock_all();
        busy = false;
      },
      [] {
        table.unlock_all();
        busy = false;
      });
  wanted.store(true, std::memory_order_relaxed);
}

}  // namespace

bool is_watching() noexcept { return wanted.load(std::memory_order_relaxed) && !busy; }

InsideAllocator::InsideAllocator() noexcept { busy = true; }
InsideAllocator::~InsideAllocator() { busy = false; }

void allocated(const void* block, std::size_t bytes, const void* code) noexcept {
  if (block == nullptr || !is_recording()) return;
  const Busy now;
  const std::uint32_t owner = owner_of(caller != nullptr ? caller : code);
  // A block that is not in the table would never be seen to be released.
  if (owner != 0 && table.add(block, {bytes, owner})) record_block(Kind::allocation, bytes, owner);
}

Release::Release(const void* block) noexcept : block_(block) {
  const Busy now;
  if (const auto found = table.remove(block)) {
    bytes_ = found->bytes;
    owner_ = found->owner;
  }
}

void Release::commit() noexcept {
  if (owner_ == 0 || !is_recording()) return;
  const Busy now;
  record_block(Kind::release, bytes_, owner_);
}

void Release::undo() noexcept {
  if (owner_ == 0) return;
  const Busy now;
  table.add(block_, {bytes_, owner_});
}

CallerScope::CallerScope(const void* code) noexcept : is_outermost_(caller == nullptr) {
  if (is_outermost_) caller = code;
}

CallerScope::~CallerScope() {
  if (is_outermost_) caller = nullptr;
}

}  // namespace tutti::profiling::memory
