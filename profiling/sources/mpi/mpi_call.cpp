#include "mpi/mpi_call.hpp"

#include <array>
#include <cerrno>

#include "base/interpose/own_caller.hpp"
#include "mpi/mpi_types.hpp"
#include "mpi/request_table.hpp"

namespace tutti::profiling::mpi {

using interpose::is_own_caller;

using mpi_table::Function;
using mpi_table::FunctionKind;
using mpi_table::Role;
using mpi_table::Row;

constinit std::atomic<bool> is_following{false};

namespace {

// Read once: the session's configuration does not change.
struct Configuration {
  bool is_wanted = source_wanted("mpi");
  TracingMode mode = tracing_mode();
  SourceId source = add_source("BACKEND_MPI", 3);

  static const Configuration& get() noexcept {
    static const Configuration only;
    return only;
  }

  [[nodiscard]] bool admits(FunctionKind kind) const noexcept {
    if (mode == TracingMode::full) return true;
    if (mode == TracingMode::minimal) return kind == FunctionKind::collective || kind == FunctionKind::message;
    return kind != FunctionKind::query;
  }
};

[[gnu::constructor]] void begin_to_follow() noexcept {
  if ((session_folder()[0] != '\0' && source_wanted("mpi")) || record_folder()[0] != '\0')
    is_following.store(true, std::memory_order_relaxed);
}

// Names of functions and operations in the session, described at their first call. Several threads may do it at once
// and get the same numbers.
class Names {
 public:
  NameId function(Row row, bool is_large) noexcept {
    return get(functions_[is_large][static_cast<std::size_t>(row)], [&] {
      std::array<char, 64> text{};
      const std::string_view name = mpi_table::function(row).name;
      name.copy(text.data(), name.size());
      std::string_view("_c").copy(text.data() + name.size(), 2);
      return intern({text.data(), name.size() + (is_large ? 2 : 0)});
    });
  }
  NameId operation(Row row) noexcept {
    return get(operations_[static_cast<std::size_t>(row)], [&] { return intern(mpi_table::function(row).operation); });
  }

 private:
  using Slot = std::atomic<NameId>;
  template <typename Describe>
  static NameId get(Slot& slot, Describe describe) noexcept {
    NameId id = slot.load(std::memory_order_relaxed);
    if (id == 0) slot.store(id = describe(), std::memory_order_relaxed);
    return id;
  }
  std::array<std::array<Slot, mpi_table::kFunctionCount>, 2> functions_{};
  std::array<Slot, mpi_table::kFunctionCount> operations_{};
};
constinit Names names;

// An operation whose call has returned and that has not been completed.
struct UnderWay {
  Record event;
  bool is_recorded = false;
  std::uint64_t written = 0;  // its number in the record of `tutti record`; 0: it is not there
  bool is_any = false;        // in the record its sender is still to come
};

RequestTable<UnderWay>& pending() noexcept {
  // Never destroyed: MPI may be called while the process exits.
  static RequestTable<UnderWay>& only = *new RequestTable<UnderWay>;
  return only;
}

// The operations that nobody completes any more; they end with their calls.
void give_up_pending() noexcept {
  while (const std::optional<UnderWay> operation = pending().take_any())
    if (operation->is_recorded) record(operation->event);
}

// Contexts that this thread used lately: describing one costs more than a comparison of numbers.
struct KnownContext {
  Row row{};
  std::uint8_t type = 0;
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  ContextId id = 0;
};

ContextId context_of(Row row, const Message& message, std::uint32_t ranks) noexcept {
  static constexpr std::size_t kKnown = 32;
  static constinit thread_local std::array<KnownContext, kKnown> known{};
  const std::size_t hash =
      static_cast<std::size_t>(row) * 7 + message.type + message.bytes * 0x9e3779b97f4a7c15U / (1U << 27);
  KnownContext& slot = known[hash % kKnown];
  if (slot.id != 0 && slot.row == row && slot.bytes == message.bytes && slot.type == message.type &&
      slot.ranks == ranks) [[likely]]
    return slot.id;
  slot = {row, message.type, ranks, message.bytes, 0};
  slot.id = add_context({.operation = mpi_table::function(row).operation,
                         .type = type_name(message.type),
                         .backend = backend_name(),
                         .label = {},
                         .bytes = message.bytes,
                         .ranks = ranks});
  return slot.id;
}

// Calls by tutti's MPI module are in the records of the source `tutti`. A loop calls from one place.
bool is_call_of_tutti(const void* caller) noexcept {
  static constinit thread_local const void* known = nullptr;
  static constinit thread_local bool is_own = false;
  if (caller != known) {
    is_own = is_own_caller(caller);
    known = caller;
  }
  return is_own;
}

}  // namespace

ObservedCall::ObservedCall(Row row, Binding binding, Word* words, const void* caller) noexcept
    : row_(row), words_(words), arguments_(binding, words), function_(mpi_table::function(row)), binding_(binding) {
  if (!outermost_ || is_call_of_tutti(caller)) return;
  is_ours_ = true;
  const int saved_errno = errno;
  begin();
  errno = saved_errno;
}

ObservedCall::~ObservedCall() = default;

bool is_any_pending() noexcept { return !pending().is_empty(); }

void ObservedCall::begin() noexcept {
  const Configuration& configuration = Configuration::get();
  const bool writes = is_writing.load(std::memory_order_relaxed);
  if (!configuration.is_wanted && !writes) return;
  is_recorded_ = configuration.is_wanted && is_recording() && configuration.admits(function_.kind);
  switch (function_.at.role) {
    case Role::comm_free:
      if (is_usable()) forget_communicator(arguments_.communicator_at(0));
      break;
    case Role::type_free:
      if (is_usable()) forget_type(arguments_.type_at(0));
      break;
    case Role::finalize:
      give_up_pending();
      if (is_writing.load(std::memory_order_relaxed) && is_usable()) end_writing();
      ends();
      break;
    case Role::session_finalize:
      give_up_pending();
      session_ends();
      break;
    default:
      break;
  }
  if (is_completing(function_) && is_any_pending()) {
    requests_.note(function_, arguments_);
    if (writes) statuses_.prepare(row_, binding_, words_, requests_.size());
  }
  const bool is_collective = function_.kind == FunctionKind::collective;
  const bool has_message = is_recorded_ && function_.at.type >= 0;
  if ((is_collective || has_message) && is_usable()) {
    if (is_collective) {
      handle_ = arguments_.communicator(function_.at.comm);
      communicator_ = communicator_of(handle_);
      // Relaxed: collectives on a communicator are ordered by the program.
      if (communicator_ != nullptr) sequence_ = communicator_->operations.fetch_add(1, std::memory_order_relaxed);
    }
    if (has_message) message_ = message_of(function_, arguments_, communicator_, handle_);
  }
  if (writes && is_written(row_) && is_usable()) begin_writing();
  if (!is_recorded_) {
    if (!requests_.is_empty()) begin_ns_ = now_ns();
    return;
  }
  context_ = current_context();
  if (context_ == 0 && (is_collective || function_.kind == FunctionKind::message)) {
    is_operation_ = true;
    const int ranks = communicator_ == nullptr ? 0 : communicator_->size;
    context_ = context_of(row_, message_, static_cast<std::uint32_t>(ranks));
    scope_.emplace(context_);
  }
  begin_ns_ = now_ns();
}

void ObservedCall::begin_writing() noexcept {
  const bool is_message = function_.kind == FunctionKind::message;
  if (is_message && function_.at.comm >= 0) {
    handle_ = arguments_.communicator(function_.at.comm);
    communicator_ = communicator_of(handle_);
  }
  begin_ns_ = now_ns();
  written_ = write_begin(row_, arguments_, communicator_, handle_, begin_ns_);
  if (written_.is_any && function_.at.request < 0) statuses_.prepare(row_, binding_, words_, 1);
  // Messages have no number on their communicator.
  if (is_message) communicator_ = nullptr;
}

void ObservedCall::end(int error) noexcept {
  if (!is_ours_) return;
  const bool ends_something = is_recorded_ || written_.first != 0 || !requests_.is_empty();
  const std::uint64_t end_ns = ends_something ? now_ns() : 0;
  scope_.reset();
  const int saved_errno = errno;
  const bool follows = Configuration::get().is_wanted || is_writing.load(std::memory_order_relaxed);
  if (function_.at.role != Role::none && error == 0 && follows) note_end();
  if (!requests_.is_empty()) end_operations(error, end_ns);
  if (is_recorded_ && !is_idle_poll()) record_call(error, end_ns);
  if (written_.first != 0 || (is_operation_ && function_.at.request >= 0)) {
    end_own_operation(error, end_ns);
  } else if (is_operation_) {
    record(own_operation(error, end_ns));
  }
  errno = saved_errno;
}

void ObservedCall::end_operations(int error, std::uint64_t end_ns) noexcept {
  // Of several requests only their statuses tell which of them failed.
  const int of_one = requests_.size() == 1 ? error : 0;
  std::uint64_t begin_ns = begin_ns_;
  requests_.visit_completed(function_, arguments_, [&](Word request, std::size_t place) {
    std::optional<UnderWay> operation = pending().take(request);
    if (!operation) return;
    if (operation->is_recorded) {
      operation->event.end_ns = end_ns;
      operation->event.error = of_one;
      record(operation->event);
    }
    if (operation->written == 0) return;
    write_wait(operation->written, begin_ns, end_ns);
    if (operation->is_any) tell_sender(operation->written, place);
    begin_ns = end_ns;  // the time of the call is that of its first wait
  });
}

bool ObservedCall::is_idle_poll() const noexcept {
  return function_.at.flag >= 0 && Configuration::get().mode != TracingMode::full &&
         arguments_.result(function_.at.flag) == 0;
}

void ObservedCall::note_end() noexcept {
  const auto& at = function_.at;
  switch (at.role) {
    case Role::init:
      began();
      tell_rank();
      break;
    case Role::session_init:
      session_began(arguments_.session_at(2));
      tell_rank();
      break;
    case Role::comm_create:
    case Role::comm_duplicate_later: {
      if (!is_usable()) break;
      const Word created = arguments_.communicator_at(at.created);
      const Word parent = at.comm < 0 ? 0 : arguments_.communicator(at.comm);
      if (at.role == Role::comm_create)
        note_created(created, communicator_of(parent));
      else
        note_duplicate(created, communicator_of(parent));
      break;
    }
    default:
      break;
  }
}

void ObservedCall::record_call(int error, std::uint64_t end_ns) noexcept {
  record({.source = Configuration::get().source,
          .name = names.function(row_, binding_ == Binding::large),
          .context = context_,
          .error = error,
          .begin_ns = begin_ns_,
          .end_ns = end_ns,
          .bytes = message_.bytes});
}

Record ObservedCall::own_operation(int error, std::uint64_t end_ns) const noexcept {
  const bool has_communicator = communicator_ != nullptr;
  return {.kind = Kind::operation,
          .source = Configuration::get().source,
          .name = names.operation(row_),
          .context = context_,
          .error = error,
          .begin_ns = begin_ns_,
          .end_ns = end_ns,
          .bytes = message_.bytes,
          .communicator = has_communicator ? session_id(*communicator_, handle_) : CommunicatorId{0},
          .sequence = has_communicator ? sequence_ : 0};
}

void ObservedCall::end_own_operation(int error, std::uint64_t end_ns) noexcept {
  UnderWay operation{.event = {}, .is_recorded = is_operation_, .written = written_.first, .is_any = written_.is_any};
  if (is_operation_) operation.event = own_operation(error, end_ns);
  if (function_.at.request >= 0 && error == 0) {
    const Word request = arguments_.request_of(arguments_.raw_request(function_.at.request));
    if (pending().add(request, operation)) return;
  }
  if (is_operation_) record(operation.event);
  if (written_.first != 0) write_end(written_, begin_ns_, end_ns);
  if (written_.is_any) tell_sender(written_.first, 0);
}

void ObservedCall::tell_sender(std::uint64_t written, std::size_t place) noexcept {
  if (const auto sender = statuses_.sender_of(place)) write_sender(written, sender->rank, sender->tag);
}

int answer_without_mpi(Row row, const Word* words) noexcept {
  if (row == Row::Initialized || row == Row::Finalized) {
    if (words[0] != 0) *reinterpret_cast<int*>(words[0]) = 0;
    return 0;
  }
  return 16;  // an error in every ABI
}

}  // namespace tutti::profiling::mpi
