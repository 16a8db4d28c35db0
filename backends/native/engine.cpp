#include "engine.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "call.hpp"
#include "native_api.hpp"

namespace tutti::native {
namespace {

constexpr std::chrono::seconds kDefaultTimeout{600};
constexpr int kNobody = -1;
// How long a rank whose operation failed waits for other processes that use its memory. Host memory can be taken out of
// their reach afterwards, device memory cannot.
constexpr std::chrono::seconds kLongestVisit{1};
constexpr std::chrono::seconds kLongestDeviceVisit{5};
// The most that counts towards these between two looks.
constexpr std::chrono::milliseconds kLongestStep{1};

std::vector<bool> same_process(const spi::Peers& peers) {
  const auto size = static_cast<std::size_t>(peers.size);
  std::vector<bool> result(size, true);
  if (peers.same_process) return result;
  for (std::size_t r = 0; r < size; ++r)
    result[r] = static_cast<int>(r) == peers.rank || peers.pids[r] == api::process_id();
  return result;
}

StepResult both(StepResult a, StepResult b) noexcept { return std::max(a, b); }

}  // namespace

Task::Task(Engine& engine, const Operation& operation) : engine_(engine), operation_(operation) {
  engine_.issue(*this);
}

Task::~Task() {
  if (!done_) engine_.withdraw(*this);
}

void TaskList::append(Task& task) noexcept {
  if (last_ == nullptr)
    first_ = &task;
  else
    last_->next_ = &task;
  last_ = &task;
}

void TaskList::remove(Task& task) noexcept {
  Task* before = nullptr;
  Task** link = &first_;
  while (*link != nullptr && *link != &task) {
    before = *link;
    link = &before->next_;
  }
  if (*link == nullptr) return;
  *link = task.next_;
  if (last_ == &task) last_ = before;
  task.next_ = nullptr;
}

Engine::Engine(const spi::CreateContext& context)
    : channels_(Segment::join(context), context.peers.rank),
      reach_(context.peers, context.config.flag("TUTTI_NATIVE_DIRECT")),
      device_reach_(context.peers, context.config.flag("TUTTI_NATIVE_DIRECT")),
      board_(channels_, same_process(context.peers)),
      patience_(channels_.segment().ranks_per_core() > 1),
      core_spread_(channels_.layout(), channels_.rank(), channels_.segment().ranks_per_core()),
      progress_(context.progress),
      busy_(2 * static_cast<std::size_t>(context.peers.size)),
      exit_mark_(channels_.layout().control(channels_.rank())) {}

Engine::~Engine() {
  channels_.segment().release(channels_.rank());
  channels_.bells().alarm();  // ranks that wait for this one must see that it has left
}

void Engine::check_alive(const Operation& operation) {
  if (!failure_ && board_.has_failed()) [[unlikely]]
    failure_ = board_.read();
  if (failure_) [[unlikely]]
    throw_failure(operation);
}

void Engine::issue(Task& task) noexcept {
  if (is_message(task.operation_.kind)) {
    messages_.append(task);
  } else {
    task.number_ = ++issued_;
    collectives_.append(task);
  }
}

void Engine::withdraw(Task& task) noexcept {
  renounce(task.operation_);
  if (collectives_.front() == &task) {
    if (std::holds_alternative<DeviceExchange>(active_)) (void)quiesce(kLongestDeviceVisit);
    if (const auto* direct = std::get_if<Direct>(&active_)) {
      if (!quiesce(kLongestVisit)) direct->detach_output();
    }
    active_ = std::monostate();
  }
  collectives_.remove(task);
  messages_.remove(task);
}

bool Engine::drive(Task& task, spi::Deadline until) {
  while (true) {
    const StepResult result = progress();
    if (result != StepResult::blocked) patience_.renew();
    if (task.done_) return true;  // the last look before a nap may have completed it
    if (result != StepResult::blocked) continue;
    const bool on_trial = core_spread_.is_on_trial();
    const Clock::time_point begin = on_trial ? Clock::now() : Clock::time_point();
    const bool stays_awake = patience_.wait();
    if (on_trial) core_spread_.judge(begin, Clock::now());
    if (patience_.has_just_lost()) core_spread_.step_apart();
    if (!stays_awake && !nap(task, until)) return false;
  }
}

bool Engine::poll(Task& task) {
  check_alive(task.operation_);
  const StepResult result = progress();
  if (task.done_) return true;
  if (result == StepResult::blocked) check_health(task, Clock::now());
  return false;
}

bool Engine::quiesce(Clock::duration limit) const noexcept {
  // A piece of work takes far less than a millisecond, but the other process may be stopped in the middle of one, or
  // gone. Time that this rank spends off its core counts little: the whole machine may have stood still.
  Clock::duration waited{};
  Clock::time_point last = Clock::now();
  for (int d = 1; d < channels_.size(); ++d) {
    const int peer = channels_.peer(d);
    const std::atomic<std::uint32_t>& busy = channels_.layout().control(peer).busy;
    while (busy.load(std::memory_order_seq_cst) != 0) {
      const bool is_here = board_.is_in_this_process(peer);  // it goes on if this rank does
      if (!is_here && !channels_.segment().is_held(peer)) break;
      if (!is_here && waited >= limit) return false;
      api::yield();
      const Clock::time_point now = Clock::now();
      if (!is_here) waited += std::min<Clock::duration>(now - last, kLongestStep);
      last = now;
    }
  }
  return true;
}

bool Engine::may_meet_on_device(const Operation& operation) const noexcept {
  return !Flat::fits(channels_.geometry(), operation) && channels_.geometry().mailbox_bytes >= sizeof(DeviceOffer);
}

Engine::Visit::Visit(Engine& engine, const Operation& operation) : engine_(engine) {
  // Sequentially consistent: either a failing rank sees `busy`, or this rank sees the failure; see quiesce().
  std::atomic<std::uint32_t>& busy = engine.channels_.layout().control(engine.rank()).busy;
  busy.store(1, std::memory_order_seq_cst);
  if (!engine.board_.is_failing()) [[likely]]
    return;
  busy.store(0, std::memory_order_release);
  // The failing rank finishes its report soon, unless it has died meanwhile.
  for (int look = 0; look < 1000 && !engine.board_.has_failed(); ++look) api::yield();
  engine.check_alive(operation);
  throw Error(ErrorCode::peer_failure, "another rank has failed without reporting a reason", "native");
}

Engine::Visit::~Visit() { engine_.channels_.layout().control(engine_.rank()).busy.store(0, std::memory_order_release); }

void Engine::give_up(const Error& error) noexcept {
  board_.post(error.code(), kNobody, error.what());
  (void)quiesce(kLongestDeviceVisit);
}

void Engine::give_up(const Operation& operation) noexcept {
  renounce(operation);
  (void)quiesce(kLongestDeviceVisit);
}

void Engine::renounce(const Operation& operation) noexcept {
  if (failure_ || board_.has_failed()) return;
  // Without an allocation: the lack of memory is the usual reason.
  std::array<char, 200> text = {};
  std::snprintf(text.data(), text.size(),
                "%.*s #%llu was given up on this rank before it was complete, because of an exception that is not a "
                "tutti::Error, e.g. for lack of memory",
                static_cast<int>(name(operation.kind).size()), name(operation.kind).data(),
                static_cast<unsigned long long>(operation.sequence));
  board_.post(ErrorCode::system, kNobody, text.data());
}

void Engine::abort() noexcept { board_.post(ErrorCode::aborted, channels_.rank(), {}); }

StepResult Engine::progress() {
  StepResult result = StepResult::blocked;
  hint_ = kAnyone;
  if (!collectives_.empty()) result = progress_collective();
  if (!messages_.empty()) {
    result = both(result, progress_messages());
    hint_ = kAnyone;
  }
  return result;
}

StepResult Engine::progress_collective() {
  Task& task = *collectives_.front();
  try {
    if (std::holds_alternative<std::monostate>(active_)) {
      if (!admit(task.number_)) return StepResult::blocked;
      begin(task);
    }
    const StepResult result = std::visit([this, &task](auto& algorithm) { return step(task, algorithm); }, active_);
    if (result == StepResult::done) complete(task);
    if (const auto* direct = std::get_if<Direct>(&active_); direct != nullptr && direct->declined()) {
      const Meeting meeting = direct->meeting();
      begin_rings(task.operation_, meeting);
    }
    return result;
  } catch (const Error& error) {
    fail(error.code(), kNobody, error.what(), task.operation_);
  }
}

template <typename Algorithm>
StepResult Engine::step(const Task& task, Algorithm& algorithm) {
  const StepResult result = algorithm.step();
  if (result == StepResult::done && algorithm.has_met_all()) known_complete_ = task.number_ - 1;
  if (result == StepResult::blocked) hint_ = algorithm.waits_for();
  return result;
}

StepResult Engine::step(const Task&, std::monostate&) { return StepResult::blocked; }

bool Engine::admit(std::uint64_t number) noexcept {
  // See Meeting: the mailbox must not be overwritten while a rank may still read its content of two collectives ago.
  if (known_complete_ + kMailboxDepth >= number) return true;
  std::uint64_t slowest = number;
  for (int r = 0; r < channels_.size(); ++r) {
    if (r == channels_.rank()) continue;
    slowest = std::min(slowest, channels_.layout().control(r).completed.load(std::memory_order_seq_cst));
  }
  known_complete_ = slowest;
  return known_complete_ + kMailboxDepth >= number;
}

void Engine::begin(const Task& task) {
  core_spread_.announce();
  const Operation& operation = task.operation_;
  const Meeting meeting(channels_, operation, task.number_);
  if (Flat::fits(channels_.geometry(), operation))
    active_.emplace<Flat>(channels_, operation, meeting);
  else if (operation.where.kind == MemoryKind::device)
    active_.emplace<DeviceExchange>(channels_, device_reach_, operation, meeting);
  else if (Direct::wants(channels_, reach_, operation))
    active_.emplace<Direct>(channels_, reach_, board_, operation, meeting);
  else
    begin_rings(operation, meeting);
}

void Engine::begin_rings(const Operation& operation, const Meeting& meeting) {
  switch (operation.kind) {
    case OpKind::allreduce:
    case OpKind::reduce:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatterv:
      active_.emplace<ReducePipeline>(channels_, operation, meeting);
      return;
    case OpKind::broadcast:
    case OpKind::allgather:
    case OpKind::allgatherv:
      active_.emplace<BroadcastStream>(channels_, operation, meeting);
      return;
    default:
      active_.emplace<PairExchange>(channels_, operation, meeting);
      return;
  }
}

void Engine::complete(Task& task) noexcept {
  if (is_message(task.operation_.kind)) {
    messages_.remove(task);
  } else {
    active_ = std::monostate();
    collectives_.remove(task);
    channels_.layout().control(channels_.rank()).completed.store(task.number_, std::memory_order_seq_cst);
    channels_.bells().notify_all();
  }
  task.done_ = true;
}

StepResult Engine::progress_messages() {
  ++round_;
  StepResult result = StepResult::blocked;
  for (Task* task = messages_.front(); task != nullptr;) {
    Task* const next = task->next_;
    const Operation& operation = task->operation_;
    std::uint64_t& busy =
        busy_[2 * static_cast<std::size_t>(operation.root) + (operation.kind == OpKind::recv ? 1 : 0)];
    if (busy != round_) {
      StepResult outcome = StepResult::blocked;
      try {
        outcome = task->message_.step(channels_, operation);
      } catch (const Error& error) {
        fail(error.code(), kNobody, error.what(), operation);
      }
      if (outcome == StepResult::done)
        complete(*task);
      else
        busy = round_;
      result = both(result, outcome);
    }
    task = next;
  }
  return result;
}

bool Engine::nap(Task& task, spi::Deadline until) {
  const Clock::time_point now = Clock::now();
  check_health(task, now);
  if (progress_ != nullptr) {
    progress_->waits_since(
        std::chrono::duration_cast<std::chrono::nanoseconds>(task.begun_.time_since_epoch()).count());
  }
  if (now >= until) return false;
  const std::int32_t hint = hint_;
  const Bells::Nap nap(channels_.bells(), hint);
  // The last look before sleeping; see Bells.
  if (progress() != StepResult::blocked) {
    patience_.renew();
    return true;
  }
  if (hint_ != hint || board_.has_failed()) return true;
  const auto limit = std::min({until, deadline_of(task), now + FailureBoard::kProbeInterval});
  if (limit > now) nap.sleep(limit - now);
  return true;
}

Engine::Clock::time_point Engine::deadline_of(const Task& task) noexcept {
  const std::chrono::nanoseconds timeout = task.operation_.timeout;
  return task.begun_ + (timeout.count() > 0 ? timeout : std::chrono::nanoseconds(kDefaultTimeout));
}

void Engine::check_health(Task& task, Clock::time_point now) {
  check_alive(task.operation_);
  for (const TaskList* list : {&collectives_, &messages_}) {
    for (Task* late = list->front(); late != nullptr; late = late->next_) check_deadline(*late, now);
  }
  if (now - last_probe_ < FailureBoard::kProbeInterval) return;
  last_probe_ = now;
  compare_calls();
  check_peers(task.operation_);
}

void Engine::check_deadline(Task& task, Clock::time_point now) {
  if (task.begun_ == Clock::time_point()) task.begun_ = now;  // the clock is not read for operations that need not wait
  if (now < deadline_of(task)) return;
  const Call call = Call::of(task.operation_);
  const std::string late = is_message(call.kind) ? board_.whereabouts(call.root) : board_.who_is_late(task.number_);
  fail(ErrorCode::timeout, kNobody,
       "rank " + std::to_string(channels_.rank()) + " waited " + format_duration(deadline_of(task) - task.begun_) +
           " in " + long_name(call) + "; " + late,
       task.operation_);
}

void Engine::compare_calls() {
  try {
    std::visit(
        [](const auto& algorithm) {
          if constexpr (requires { algorithm.meeting(); }) algorithm.meeting().compare_all();
        },
        active_);
  } catch (const Error& error) {
    fail(error.code(), kNobody, error.what(), collectives_.front()->operation_);
  }
}

void Engine::check_peers(const Operation& operation) {
  const auto fail_gone = [&](int rank, const std::string& how) {
    check_alive(operation);  // the rank may have reported a failure before it went
    fail(ErrorCode::peer_failure, rank, "rank " + std::to_string(rank) + how, operation);
  };
  if (const std::optional<int> dead = board_.find_dead()) fail_gone(*dead, board_.end_of(*dead));
  // The text names the operation, because it also reaches ranks whose own operation does not need the rank.
  const auto fail_left = [&](int rank, const Task& needs_it) {
    fail_gone(rank, " has already destroyed its communicator, rank " + std::to_string(channels_.rank()) +
                        " needs it in " + short_name(Call::of(needs_it.operation_)));
  };
  if (const Task* front = collectives_.front()) {
    if (const std::optional<int> left = board_.find_left(front->number_)) fail_left(*left, *front);
  }
  for (Task* task = messages_.front(); task != nullptr; task = task->next_) {
    const int peer = task->operation_.root;
    if (peer == channels_.rank() || !board_.has_left(peer)) continue;
    // Messages that the peer sent before it left may have arrived since the last look, but no more will come.
    if (progress_messages() == StepResult::blocked) fail_left(peer, *task);
    return;
  }
}

void Engine::fail(ErrorCode code, int culprit, std::string reason, const Operation& operation) {
  board_.post(code, culprit, reason);
  failure_ = Failure{code, std::move(reason)};
  if (culprit == kNobody) throw Error(code, failure_->reason, "native");  // the reason is complete
  throw_failure(operation);
}

void Engine::throw_failure(const Operation& operation) const {
  throw Error(failure_->code,
              long_name(Call::of(operation)) + " on rank " + std::to_string(channels_.rank()) + " of " +
                  std::to_string(channels_.size()) + " (native): " + failure_->reason,
              "native");
}

}  // namespace tutti::native
