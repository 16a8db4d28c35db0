#include "sources/tutti/profile_observer.hpp"

#include <cstring>

#include "tutti/spi/instrument.hpp"

namespace tutti::profiling {

namespace {

/// Letter of a place as traffic is named: M memory of the host, H pinned memory, D device, S shared.
std::size_t place_of(Memory where) noexcept {
  switch (where.kind) {
    case MemoryKind::host:
      return where.device.is_host() ? 0 : 1;
    case MemoryKind::device:
      return 2;
    case MemoryKind::shared:
      return 3;
  }
  return 0;
}
constexpr std::string_view kPlaceLetters = "MHDS";

/// "level_zero copy(M2D)"
NameId make_traffic_name(std::string_view owner, std::size_t from, std::size_t to) noexcept {
  std::array<char, 64> text{};
  const std::size_t length = std::min<std::size_t>(owner.size(), 48);
  std::memcpy(text.data(), owner.data(), length);
  constexpr std::string_view kEnd = " copy(?2?)";
  std::memcpy(text.data() + length, kEnd.data(), kEnd.size());
  text[length + 6] = kPlaceLetters[from];
  text[length + 8] = kPlaceLetters[to];
  return intern({text.data(), length + kEnd.size()});
}

/// The last context of a thread: programs repeat operations. Texts are compared, because their places are reused.
struct LastContext {
  static constexpr std::size_t kText = 48;
  std::array<char, kText> text;  ///< backend and label
  std::size_t backend_size;
  std::size_t label_size;
  std::uint64_t bytes;
  int size;
  OpKind kind;
  DataType type;
  ContextId context;
};
constinit thread_local LastContext last_context = {};

ContextId context_of(const OpIssued& issued, std::uint64_t bytes) noexcept {
  const Operation& op = issued.operation;
  LastContext& last = last_context;
  if (last.context != 0 && last.bytes == bytes && last.kind == op.kind && last.type == op.type &&
      last.size == issued.size && last.backend_size == issued.backend.size() && last.label_size == op.label.size() &&
      std::memcmp(last.text.data(), issued.backend.data(), last.backend_size) == 0 &&
      (last.label_size == 0 ||
       std::memcmp(last.text.data() + last.backend_size, op.label.data(), last.label_size) == 0)) {
    return last.context;
  }
  const ContextId context = add_context({.operation = name(op.kind),
                                         .type = op.kind == OpKind::barrier ? std::string_view() : name(op.type),
                                         .backend = issued.backend,
                                         .label = op.label,
                                         .bytes = bytes,
                                         .ranks = static_cast<std::uint32_t>(issued.size)});
  last.context = 0;
  if (issued.backend.size() + op.label.size() > LastContext::kText) return context;
  last.backend_size = issued.backend.copy(last.text.data(), issued.backend.size());
  last.label_size = op.label.copy(last.text.data() + last.backend_size, op.label.size());
  last.bytes = bytes;
  last.size = issued.size;
  last.kind = op.kind;
  last.type = op.type;
  last.context = context;
  return context;
}

}  // namespace

ProfileObserver::ProfileObserver() noexcept
    : source_(add_source("BACKEND_TUTTI", 9)), is_wanted_(source_wanted("tutti")) {
  for (const OpTraits& row : kOpTraits) operation_names_[static_cast<std::size_t>(row.kind)] = intern(row.name);
}

void ProfileObserver::on(const CommunicatorCreated& created) noexcept {
  communicators_.set(
      created.communicator,
      add_communicator({.key = created.key, .name = created.name, .rank = created.rank, .size = created.size}));
  if (created.parent == 0) set_rank(created.rank, created.size);
}

void ProfileObserver::on(const OpIssued& issued) noexcept {
  if (!is_recording()) return;
  const Operation& op = issued.operation;
  const std::uint64_t bytes = message_bytes(op, issued.size);
  const PendingOperations::Entry entry{.name = operation_names_[static_cast<std::size_t>(op.kind)],
                                       .context = context_of(issued, bytes),
                                       .communicator = communicators_.of(issued.communicator),
                                       // Messages are not numbered: they have the number of the collective before them.
                                       .sequence = is_message(op.kind) ? 0 : op.sequence,
                                       .begin_ns = issued.time_ns,
                                       .bytes = bytes};
  if (pending_.add(issued.id, entry) || !is_wanted_) return;
  // Its end will not be known: counted with no duration rather than not at all.
  record({.kind = Kind::operation,
          .source = source_,
          .name = entry.name,
          .context = entry.context,
          .begin_ns = entry.begin_ns,
          .end_ns = entry.begin_ns,
          .bytes = entry.bytes,
          .communicator = entry.communicator,
          .sequence = entry.sequence});
}

void ProfileObserver::on(const OpCompleted& completed) noexcept {
  PendingOperations::Entry entry;
  if (!pending_.take(completed.id, entry) || !is_wanted_ || !is_recording()) return;
  record({.kind = Kind::operation,
          .source = source_,
          .name = entry.name,
          .context = entry.context,
          .error = static_cast<std::int32_t>(completed.error),
          .begin_ns = entry.begin_ns,
          .end_ns = completed.time_ns,
          .bytes = entry.bytes,
          .correlation = correlation_of(completed.id),
          .communicator = entry.communicator,
          .sequence = entry.sequence});
}

void ProfileObserver::on(const HostCall& call) noexcept {
  if (!is_recording() || is_asking_devices()) return;
  const LibraryFunction function = functions_.of(call.library, call.function, source_);
  if (!function.is_wanted) return;
  const bool is_not_ready = function.not_ready != 0 && call.error == function.not_ready;
  record({.kind = Kind::host,
          .source = function.source,
          .name = function.name,
          .context = pending_.context_of(call.cause),
          .error = is_not_ready ? 0 : static_cast<std::int32_t>(call.error),
          .begin_ns = call.begin_ns,
          .end_ns = call.end_ns});
}

void ProfileObserver::record_memory(Kind kind, OperationId cause, std::string_view owner, std::uint64_t bytes,
                                    Memory where, std::uint64_t time_ns) noexcept {
  if (!is_wanted_ || !is_recording()) return;
  record({.kind = kind,
          .source = source_,
          .name = intern(owner),
          .context = pending_.context_of(cause),
          .device = where.kind == MemoryKind::host ? 0 : devices_.of(where.device),
          .begin_ns = time_ns,
          .end_ns = time_ns,
          .bytes = bytes});
}

void ProfileObserver::on(const Allocation& memory) noexcept {
  record_memory(Kind::allocation, memory.cause, memory.owner, memory.bytes, memory.where, memory.time_ns);
}

void ProfileObserver::on(const Free& memory) noexcept {
  record_memory(Kind::release, memory.cause, memory.owner, memory.bytes, memory.where, memory.time_ns);
}

NameId ProfileObserver::traffic_name(const Traffic& moved) noexcept {
  const std::size_t from = place_of(moved.from);
  const std::size_t to = place_of(moved.to);
  const char* owner = traffic_owner_.load(std::memory_order_relaxed);
  if (owner == nullptr && traffic_owner_.compare_exchange_strong(owner, moved.owner.data(), std::memory_order_relaxed))
    owner = moved.owner.data();
  // A process with two device runtimes is rare: the second one's names are made each time.
  if (owner != moved.owner.data()) return make_traffic_name(moved.owner, from, to);
  std::atomic<NameId>& known = traffic_names_[from * kPlaces + to];
  NameId name = known.load(std::memory_order_relaxed);
  if (name == 0) known.store(name = make_traffic_name(moved.owner, from, to), std::memory_order_relaxed);
  return name;
}

void ProfileObserver::on(const Traffic& moved) noexcept {
  if (!is_wanted_ || !is_recording()) return;
  const std::uint64_t now = now_ns();
  record({.kind = Kind::traffic,
          .source = source_,
          .name = traffic_name(moved),
          .context = pending_.context_of(moved.cause),
          .begin_ns = now,
          .end_ns = now,
          .bytes = moved.bytes});
}

void ProfileObserver::on(const DeviceInterval& work) noexcept {
  if (!is_wanted_ || !is_recording() || devices_.is_reported_below(work.device)) return;
  record({.kind = Kind::device,
          .source = source_,
          .name = intern(work.name),
          .context = pending_.context_of(work.cause),
          .device = devices_.of(work.device),
          .begin_ns = work.begin_ns,
          .end_ns = work.end_ns,
          .correlation = correlation_of(work.cause)});
}

void ProfileObserver::on(const spi::TensorStage& stage) noexcept {
  if (!is_wanted_ || !is_recording()) return;
  record({.kind = Kind::stage,
          .source = source_,
          .name = intern(stage.stage),
          .context = add_context({.operation = stage.operation,
                                  .type = name(stage.type),
                                  .backend = stage.backend,
                                  .label = stage.tensor,
                                  .bytes = stage.bytes,
                                  .ranks = stage.ranks}),
          .begin_ns = stage.begin_ns,
          .end_ns = stage.end_ns,
          .bytes = stage.bytes});
}

ContextId ProfileObserver::context_of_thread() noexcept { return pending_.context_of(spi::current_operation()); }

}  // namespace tutti::profiling
