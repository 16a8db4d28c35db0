#include "staging/staging.hpp"

#include <algorithm>
#include <utility>

#include "call/agreement.hpp"
#include "call/communicator_state.hpp"
#include "call/emulation.hpp"
#include "call/validation.hpp"
#include "call/work_state.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti {

namespace {

/// Long enough that starting a copy and an operation costs little of its time, short enough that a message of a few
/// times that overlaps.
constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;

/// Contexts of which streams and pinned memory are kept.
constexpr std::size_t kMaxAreas = 8;

}  // namespace

struct Staging::Job {
  Operation op;
  OperationId id = 0;
  std::shared_ptr<StagingArea> area;        ///< null: on host memory
  StagingSlots slots;                       ///< null: nothing is copied
  std::unique_ptr<spi::DeviceEvent> ready;  ///< null: the caller vouches for it
  std::unique_ptr<spi::DeviceGate> gate;    ///< null: no stream waits

  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::optional<Error> error;
};

/// The caller's view of a job; may go before the job ends.
class Staging::Pending final : public spi::PendingOperation {
 public:
  Pending(Staging& staging, std::shared_ptr<Job> job) noexcept : staging_(staging), job_(std::move(job)) {}

 private:
  bool do_poll() override { return do_wait(std::chrono::steady_clock::now()); }
  bool do_wait(spi::Deadline until) override {
    std::unique_lock lock(job_->mutex);
    const auto is_done = [this] { return job_->is_done; };
    if (until == spi::Deadline::max()) {
      job_->changed.wait(lock, is_done);
    } else if (!job_->changed.wait_until(lock, until, is_done)) {
      return false;
    }
    lock.unlock();
    staging_.release_retired();
    if (!job_->error) return true;
    // Not a copy: those share their text, and this one leaves the thread.
    const Error& error = *job_->error;
    throw Error(error.code(), error.what(), error.backend(), error.vendor_code());
  }

  Staging& staging_;
  std::shared_ptr<Job> job_;
};

Staging::Staging(detail::CommunicatorState& state)
    : state_(state), backend_(*state.backend), thread_(spi::start_thread("tutti-progress", [this] { work(); })) {}

Staging::~Staging() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Stream Staging::stream_of(const Operation& op) {
  if (!op.stream.is_host()) return op.stream;
  return spi::device_runtime(op.where.device).stream(op.where.device);
}

std::shared_ptr<StagingArea> Staging::area(const Stream& stream) {
  const std::uint64_t key = spi::device_runtime(stream.device()).context_key(stream);
  const auto known = std::ranges::find_if(areas_, [&](const auto& kept) { return kept->key() == key; });
  if (known != areas_.end()) return *known;
  if (areas_.size() == kMaxAreas) areas_.erase(areas_.begin());
  return areas_.emplace_back(std::make_shared<StagingArea>(stream));
}

std::unique_ptr<spi::PendingOperation> Staging::start(const Operation& op, OperationId id) {
  release_retired();
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) {
      throw Error(failure_->code(), context(state_, op) + ": an earlier operation failed: " + failure_->what(),
                  failure_->backend(), failure_->vendor_code());
    }
  }
  auto job = std::make_shared<Job>();
  job->op = op;
  job->id = id;
  try {
    prepare(*job);
  } catch (const Error& error) {
    give_up(error);
    throw;
  }
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(job);
  }
  changed_.notify_all();
  return std::make_unique<Pending>(*this, std::move(job));
}

void Staging::prepare(Job& job) {
  const Operation& op = job.op;
  if (op.stream.is_host() && op.where.kind == MemoryKind::host) return;
  job.area = area(stream_of(op));
  // A device may let an allocation wait for all its work, gates included: the thread that opens them makes none.
  if (is_copied(op, state_.backend->capabilities())) {
    if (state_.strict && !state_.backend->may_reach(op)) throw staging_refusal(state_, op);
    job.slots = job.area->slots(StagingPlan(op, state_.size, kPieceBytes));
  }
  if (op.stream.is_host()) return;
  // Only while the call lasts the application's stream is known to exist.
  job.ready = job.area->runtime().record(op.stream);
  job.gate = job.area->runtime().hold(op.stream);
}

bool Staging::is_idle() {
  const std::scoped_lock lock(mutex_);
  return jobs_.empty();
}

bool Staging::admits_messages() {
  const spi::Capabilities& has = state_.backend->capabilities();
  const std::scoped_lock lock(mutex_);
  return !jobs_.empty() && std::ranges::none_of(jobs_, [&](const std::shared_ptr<Job>& job) {
    return Emulator::exchanges_messages(job->op, has);
  });
}

void Staging::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty(); });
  lock.unlock();
  release_retired();
}

void Staging::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::shared_ptr<Job> job = jobs_.front();
    lock.unlock();
    carry_out(*job);
    lock.lock();
    jobs_.pop_front();
    changed_.notify_all();
  }
}

void Staging::carry_out(Job& job) {
  const spi::OperationScope scope(job.id);
  std::optional<Error> error;
  try {
    if (job.ready != nullptr) job.ready->wait();
    job.ready.reset();
    if (state_.is(detail::CommunicatorState::kCheck)) check_agreement(state_, backend_, job.op);
    if (job.area == nullptr) {
      run_on_backend(job.op);
    } else if (!needs_staging(job.op, state_.backend->capabilities())) {
      run_on_stream(job);
    } else if (is_copied(job.op, state_.backend->capabilities())) {
      run_on_device_memory(job);
    } else {
      Operation op = job.op;
      op.where = {};
      op.stream = {};
      run_on_backend(op);
    }
  } catch (const Error& failure) {
    error = failure;
  } catch (const std::exception& failure) {
    error.emplace(ErrorCode::system, context(state_, job.op) + ": " + failure.what());
  }
  finish(job, error);
}

void Staging::run_on_device_memory(Job& job) {
  if (is_reached(job)) return;
  if (state_.strict) {
    const Error refusal = staging_refusal(state_, job.op);
    remember(refusal);  // whoever does not wait for it would take what the stream brings for a result
    throw Error(refusal);
  }
  run_pieces(job);
}

bool Staging::is_reached(const Job& job) {
  if (!state_.backend->capabilities().takes(job.op)) return false;
  Operation op = job.op;
  op.stream = job.area->stream();
  const std::scoped_lock lock(backend_.lock());
  if (!state_.backend->reaches(op)) return false;
  state_.backend->run(op);
  return true;
}

void Staging::run_pieces(Job& job) {
  const StagingPlan plan(job.op, state_.size, kPieceBytes);
  const auto slot_of = [&](std::uint64_t index) -> StagingSlot& { return *job.slots[index % job.slots.size()]; };
  slot_of(0).fetch(job.op, plan.piece(0));
  for (std::uint64_t index = 0; index < plan.pieces(); ++index) {
    StagingSlot& slot = slot_of(index);
    if (index + 1 < plan.pieces()) {
      StagingSlot& next = slot_of(index + 1);
      next.wait_delivered();
      next.fetch(job.op, plan.piece(index + 1));
    }
    slot.wait_fetched();
    run_on_backend(slot.operation());
    slot.deliver(job.op);
  }
  for (const auto& slot : job.slots) {
    if (slot != nullptr) slot->wait_delivered();
  }
}

void Staging::run_on_stream(Job& job) {
  Operation op = job.op;
  op.stream = job.area->stream();
  run_on_backend(op);
}

void Staging::run_on_backend(const Operation& op) { Emulator(backend_, state_.rank, state_.size).run(op); }

void Staging::finish(Job& job, const std::optional<Error>& error) {
  if (error) {
    give_up(*error);
    // What other pieces have under way is at the application's memory, which is its own again from now on.
    for (const auto& slot : job.slots) {
      if (slot != nullptr) slot->settle();
    }
  }
  // Also after a failure: a stream that waits for ever would take the application with it.
  job.gate.reset();
  {
    const std::scoped_lock lock(mutex_);
    if (job.area != nullptr) retired_.push_back({std::move(job.area), std::exchange(job.slots, {})});
  }
  detail::report_completion(job.id, error ? error->code() : ErrorCode::ok);
  const std::scoped_lock lock(job.mutex);
  job.error = error;
  job.is_done = true;
  job.changed.notify_all();
}

void Staging::release_retired() {
  // A device may let a release wait for all its work, as it may an allocation: not by the thread that opens gates.
  std::vector<Retired> retired;
  {
    const std::scoped_lock lock(mutex_);
    retired.swap(retired_);
  }
}

void Staging::give_up(const Error& error) {
  if (!spi::ends_communicator(error.code())) return;
  // The other ranks would wait for the part of this one.
  state_.backend->abort();
  remember(error);
}

void Staging::remember(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = error;
}

Staging::GroupImage::GroupImage(Staging& staging, std::span<Operation> ops) {
  for (Operation& op : ops) {
    if (!needs_staging(op, staging.state_.backend->capabilities())) continue;
    Entry entry;
    const Stream stream = stream_of(op);
    entry.area = staging.area(stream);
    entry.whole = op;
    if (!op.stream.is_host()) entry.area->runtime().record(stream)->wait();
    if (is_copied(op, staging.state_.backend->capabilities())) {
      StagedPiece piece = StagingPlan(entry.whole, staging.state_.size, UINT64_MAX).piece(0);
      entry.slot = entry.area->make_slot({piece.input_bytes, piece.output_bytes});
      entry.slot->fetch(entry.whole, std::move(piece));
      op = entry.slot->operation();
    }
    op.where = {};
    op.stream = {};
    entries_.push_back(std::move(entry));
  }
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->wait_fetched();
  }
}

void Staging::GroupImage::deliver() {
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->deliver(entry.whole);
  }
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->wait_delivered();
  }
}

bool needs_staging(const Operation& op, const spi::Capabilities& capabilities) {
  if (op.stream.is_host() && op.where.kind == MemoryKind::host) return false;
  const Device device = op.stream.is_host() ? op.where.device : op.stream.device();
  return !capabilities.takes(op) || !capabilities.takes(spi::device_runtime(device).name(), op.where.kind);
}

bool is_copied(const Operation& op, const spi::Capabilities& capabilities) {
  return op.where.kind == MemoryKind::device && needs_staging(op, capabilities);
}

Error staging_refusal(const detail::CommunicatorState& state, const Operation& op) {
  std::string backend(state.selection.module->name);
  std::string text = context(state, op) + ": backend " + backend + " does not take " +
                     std::string(name(op.where.kind)) + " memory of " + op.where.device.name() +
                     " and TUTTI_STRICT forbids staging";
  return {ErrorCode::unsupported, std::move(text), std::move(backend)};
}

}  // namespace tutti
