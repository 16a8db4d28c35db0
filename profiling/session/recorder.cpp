#include "session/recorder.hpp"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <bit>

#include "session/observer_module.hpp"
#include "session/session.hpp"

namespace tutti::profiling {
namespace {

using layout::DescriptionType;

// After so many contexts sizes are rounded up and labels left out; after four times as many there are no new ones.
constexpr std::uint32_t kExactContexts = 4096;
constexpr std::uint32_t kMostNumber16 = UINT16_MAX;

struct ThreadState {
  static constexpr std::uint32_t kMostRegions = 32;
  ThreadTable* table;
  std::uint32_t generation;
  // A record within a record: of a signal handler, or of a function that the recorder itself calls.
  volatile bool busy;
  bool forking;  // holds the lock for a fork
  ContextId context;
  std::uint32_t depth;  // of regions; those beyond kMostRegions are only counted
  NameId regions[kMostRegions];
  // Contexts that this thread used last, by size: a program has few, and comparing is quicker than hashing.
  static constexpr std::size_t kHints = 8;
  std::uint32_t hints[kHints];
};

// Small, and placed by the linker: its first use in a thread must not allocate.
constinit thread_local ThreadState state __attribute__((tls_model("initial-exec"))) = {};

constinit std::atomic<ContextId (*)() noexcept> context_finder{nullptr};

constinit pthread_key_t end_of_thread = 0;
constinit bool hears_ends = false;

// Marks the calling thread as busy with the recorder, unless it is already.
class Entered {
 public:
  Entered() noexcept : first_(!state.busy) {
    state.busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Entered() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (first_) state.busy = false;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  explicit operator bool() const noexcept { return first_; }

 private:
  bool first_;
};

void leave_table(void* table) noexcept {
  const Entered entered;
  state.table = nullptr;
  const SlowPath slow;
  session.detach(static_cast<ThreadTable*>(table));
}

__attribute__((noinline, cold)) bool take_table() noexcept {
  const SlowPath slow;
  state.table = session.attach();
  state.generation = session.generation();
  if (state.table == nullptr) {
    session.count_dropped();
    return false;
  }
  if (hears_ends) pthread_setspecific(end_of_thread, state.table);
  return true;
}

__attribute__((noinline, cold)) layout::Row* add_row(const layout::RowKey& key) noexcept {
  if (session.is_full()) return nullptr;
  const SlowPath slow;
  return session.add_row(*state.table, key);
}

__attribute__((noinline, cold)) void append_to_new_block(const Record& event) noexcept {
  bool there = false;
  if (!session.has_no_events()) {
    const SlowPath slow;
    there = session.add_events(*state.table);
  }
  if (!there || !state.table->append(event)) state.table->count_dropped_event();
}

__attribute__((noinline, cold)) void look_around() noexcept {
  const SlowPath slow;
  session.look_around();
}

void count_balance(const layout::Row& row, const Record& event) noexcept {
  layout::BlockHeader* block = session.file().block(row.balance >> 9);
  auto& balance = reinterpret_cast<layout::Balance*>(block + 1)[row.balance & 511U];
  const std::atomic_ref held(balance.held);
  const auto bytes = static_cast<std::int64_t>(event.bytes);
  if (event.kind == Kind::release) {
    held.fetch_sub(bytes, std::memory_order_relaxed);
    return;
  }
  const std::int64_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::atomic_ref peak(balance.peak);
  std::int64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
}

std::uint32_t describe(const Description& wanted) noexcept {
  const Entered entered;
  return session.describe(wanted, static_cast<bool>(entered));
}

// The lock is held during a fork, so that the child gets whole descriptions. Where the fork comes from within the
// recorder, in a signal handler, the lock may be this thread's own; then the child takes what there is.
void before_fork() noexcept {
  state.forking = !state.busy;
  if (state.forking) session.lock_for_fork();
}

void after_fork_in_parent() noexcept {
  if (state.forking) session.unlock_after_fork();
}

__attribute__((constructor(101))) void load() noexcept {
  const Entered entered;
  // A key beyond the first 32 would allocate on its first use in a thread, perhaps within malloc.
  if (pthread_key_create(&end_of_thread, leave_table) == 0) {
    hears_ends = end_of_thread < 32;
    if (!hears_ends) pthread_key_delete(end_of_thread);
  }
  session.load();
  pthread_atfork(before_fork, after_fork_in_parent, [] { session.begin_child(); });
  at_quick_exit([] {
    const SlowPath slow;
    session.end();
  });
}

__attribute__((destructor(101))) void unload() noexcept {
  const Entered entered;
  if (!entered) return;  // exit() in a signal handler within a record: the lock may be held
  const SlowPath slow;
  session.end();
}

}  // namespace

std::uint64_t now_ns() noexcept {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

NameId intern(std::string_view name) noexcept {
  return name.empty() ? 0 : describe({.type = DescriptionType::name, .texts = {name}});
}

SourceId add_source(std::string_view title, int level) noexcept {
  const std::uint32_t number = describe({.type = DescriptionType::source, .c = level, .texts = {title}});
  return static_cast<SourceId>(number > kMostNumber16 ? 0 : number);
}

DeviceId add_device(const DeviceFacts& device) noexcept {
  return describe(
      {.type = DescriptionType::device, .a = device.device, .b = device.sub_device, .texts = {device.name}});
}

CommunicatorId add_communicator(const CommunicatorFacts& communicator) noexcept {
  const std::uint32_t number = describe({.type = DescriptionType::communicator,
                                         .a = communicator.key,
                                         .c = communicator.rank,
                                         .d = communicator.size,
                                         .texts = {communicator.name}});
  return number > kMostNumber16 ? 0 : number;
}

ContextId add_context(const Context& context) noexcept {
  Description wanted{.type = DescriptionType::context,
                     .a = context.bytes,
                     .c = static_cast<std::int32_t>(context.ranks),
                     .texts = {context.operation, context.type, context.backend, context.label}};
  const std::size_t hint = static_cast<std::size_t>(std::bit_width(context.bytes)) % ThreadState::kHints;
  if (const std::uint32_t number = session.look_up(wanted, state.hints[hint]); number != 0) return number;
  const Entered entered;
  const std::uint32_t there = session.described(DescriptionType::context);
  if (there < kExactContexts) return session.describe(wanted, static_cast<bool>(entered));
  if (wanted.a <= std::uint64_t{1} << 63) wanted.a = std::bit_ceil(wanted.a);
  wanted.texts[3] = {};
  return session.describe(wanted, static_cast<bool>(entered) && there < 4 * kExactContexts);
}

void record(const Record& event) noexcept {
  if (!is_recording()) return;
  const Entered entered;
  if (!entered) {
    session.count_dropped();
    return;
  }
  if ((state.table == nullptr || state.generation != session.generation()) && !take_table()) return;
  if (!is_recording()) return;  // the file's first look at the session's wishes
  ThreadTable& table = *state.table;
  const layout::RowKey key{
      .kind = static_cast<std::uint8_t>(event.kind),
      .reserved = 0,
      .source = event.source,
      .name = event.name,
      .context = event.context,
      .device = event.device,
      .region = state.depth == 0 ? 0 : state.regions[std::min(state.depth, ThreadState::kMostRegions) - 1]};
  layout::Row* row = table.find(session.file(), key);
  if (row == nullptr && (row = add_row(key)) == nullptr) {
    table.count_dropped();
    return;
  }
  table.count(*row, event);
  if (row->balance != 0 && event.error == 0) count_balance(*row, event);
  if ((event.kind == Kind::operation || session.timeline()) && !table.append(event)) append_to_new_block(event);
  if (session.should_look(event.end_ns)) look_around();
}

TracingMode tracing_mode() noexcept { return session.config().mode; }

bool keeps_timeline() noexcept { return session.timeline(); }

bool device_times_forced() noexcept { return session.config().force_device_times; }

const char* record_folder() noexcept { return session.config().record; }

bool source_wanted(std::string_view source) noexcept { return list_has_source(session.config().sources, source); }

ContextScope::ContextScope(ContextId context) noexcept : previous_(state.context) { state.context = context; }
ContextScope::~ContextScope() { state.context = previous_; }

ContextId current_context() noexcept {
  if (state.context != 0) return state.context;
  // Acquire: the tables of the finder are there for whoever sees it.
  ContextId (*finder)() noexcept = context_finder.load(std::memory_order_acquire);
  return finder == nullptr ? 0 : finder();
}

void set_context_finder(ContextId (*finder)() noexcept) noexcept {
  context_finder.store(finder, std::memory_order_release);
}

void begin_region(std::string_view name) noexcept {
  const NameId number = intern(name);
  if (state.depth < ThreadState::kMostRegions) state.regions[state.depth] = number;
  ++state.depth;
}

void end_region() noexcept {
  if (state.depth > 0) --state.depth;
}

void set_rank(int rank, int size) noexcept {
  const Entered entered;
  if (!entered) return;
  const SlowPath slow;
  session.set_rank(rank, size);
}

bool start() noexcept {
  const bool is_own = session_folder()[0] == 0;
  {
    const Entered entered;
    if (!entered) return false;
    const SlowPath slow;
    if (!session.start()) return false;
  }
  // Outside of the lock, because the module describes itself.
  const int error = errno;
  if (is_own) attach_observer();
  errno = error;
  return true;
}

void stop() noexcept {
  const Entered entered;
  if (!entered) return;
  const SlowPath slow;
  session.stop();
}

void flush() noexcept {
  const Entered entered;
  if (!entered) return;
  const SlowPath slow;
  session.flush();
}

const char* session_folder() noexcept { return session.config().folder; }
void add_problem(const char* problem) noexcept { session.add_problem(problem); }

const char* last_problem() noexcept { return session.problem(); }

}  // namespace tutti::profiling
