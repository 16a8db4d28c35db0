#include "ccl_backend.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "ccl_types.hpp"
#include "creation/ccl_closing.hpp"
#include "creation/ccl_creation.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti::ccl {
namespace {

/// Interval at which a thread that destroys the communicator looks for a failure of other ranks.
constexpr auto kCloseGlance = std::chrono::milliseconds(20);

}  // namespace

Communicator::Communicator(Runtime& runtime, const spi::CreateContext& context)
    : BackendCommunicator(runtime.interface().capabilities()),
      LibraryUser(&Communicator::raise, this),
      runtime_(runtime),
      rendezvous_(context.rendezvous),
      rank_(context.rendezvous.rank()),
      size_(context.rendezvous.size()),
      channel_(make_watched_channel(runtime, context.rendezvous)),
      shortcut_(channel_->shortcut()),
      is_special_(shortcut_.allreduce == nullptr ? 1 : 0),
      messages_(runtime.interface(), runtime.creation_lock(context.rendezvous), context.rendezvous) {
  runtime_.users().add(*this);
  if (!runtime.interface().has_queues()) return;
  queues_.emplace(runtime.interface(), runtime.creation_lock(context.rendezvous), context.rendezvous, context.config);
  executor_.emplace(*queues_, common::StreamExecutor::Identity{"ccl", rank_, size_});
}

Communicator::~Communicator() {
  runtime_.users().remove(*this);
  // A call on a channel may never return, and oneCCL would wait for that call.
  if (failure_.has_failed()) (void)new auto(take_channels());
}

std::vector<std::string> Communicator::do_settings() const {
  std::vector<std::string> settings;
  for (const Variable& variable : runtime_.variables()) settings.push_back(to_text({variable}));
  return settings;
}

void Communicator::do_run(const Operation& operation) {
  // Fast path for the most frequent call. One test for three bytes that are 0 in it.
  static_assert(static_cast<int>(OpKind::allreduce) == 0 && static_cast<int>(MemoryKind::host) == 0);
  const auto special = static_cast<std::uint8_t>(is_special_.load(std::memory_order_relaxed) |
                                                 static_cast<std::uint8_t>(operation.kind) |
                                                 static_cast<std::uint8_t>(operation.where.kind));
  if (special != 0 || operation.timeout.count() != 0 || operation.count == 0 || observer() != nullptr) {
    return run_any(operation);
  }
  const spi::LibraryCalls::Scope scope(calls_, operation);
  const int code = shortcut_.allreduce(shortcut_.handle, operation.input, operation.output, operation.count,
                                       datatype(operation.type), known_reduction(operation.reduction));
  if (code != 0) [[unlikely]]
    fail_shortcut(code);
}

void Communicator::fail_shortcut(int code) {
  const Operation& operation = calls_.operation();
  check_alive(operation);
  channel_->fail(operation, code);
}

template <typename Call>
void Communicator::interruptible(const Operation& operation, const Call& call) {
  const spi::LibraryCalls::Scope scope(calls_, operation);
  try {
    call();
  } catch (const Error&) {
    check_alive(operation);  // oneCCL's error is a consequence of the interruption
    throw;
  }
}

void Communicator::run_any(const Operation& operation) {
  check_alive(operation);
  if (common::StreamExecutor::is_for(operation)) return executor_->run(operation);
  const bool direct = operation.timeout.count() == 0;
  if (direct && !is_message(operation.kind) && (!worker_ || worker_->is_idle())) {
    return interruptible(operation, [&] { channel_->carry_out(operation); });
  }
  if (direct && is_message(operation.kind) && messages_.end_of(operation).worker.is_idle()) {
    return interruptible(operation, work_of(operation));
  }
  Pending pending(*this, operation, worker_for(operation), work_of(operation));
  (void)pending.wait(spi::Deadline::max());
}

std::unique_ptr<spi::PendingOperation> Communicator::do_start(const Operation& operation) {
  check_alive(operation);
  if (common::StreamExecutor::is_for(operation)) return executor_->start(operation);
  return std::make_unique<Pending>(*this, operation, worker_for(operation), work_of(operation));
}

std::unique_ptr<spi::PendingOperation> Communicator::do_start_group(std::span<const Operation> operations) {
  std::vector<Operation> on_devices;
  std::vector<std::unique_ptr<spi::PendingOperation>> all;
  for (const Operation& operation : operations) {
    if (common::StreamExecutor::is_for(operation)) {
      on_devices.push_back(operation);
    } else {
      all.push_back(start(operation));
    }
  }
  if (!on_devices.empty()) {
    check_alive(on_devices.front());
    all.push_back(executor_->start_group(on_devices));
  }
  return std::make_unique<spi::PendingGroup>(std::move(all));
}

void Communicator::do_abort() noexcept {
  (void)do_interrupt(Error(ErrorCode::aborted, "the communicator was aborted", "ccl"));
}

bool Communicator::do_interrupt(const Error& cause) noexcept {
  const bool is_left = runtime_.users().interrupt(*this, cause);
  if (executor_) executor_->abort();
  return is_left;
}

void Communicator::raise(const void* communicator, const Operation& operation) {
  static_cast<const Communicator*>(communicator)->throw_failure(operation);
}

std::vector<std::shared_ptr<void>> Communicator::take_channels() {
  std::vector<std::shared_ptr<void>> channels;
  if (queues_) queues_->take_channels(channels);
  messages_.take_channels(channels);
  channels.push_back(std::move(channel_));
  return channels;
}

void Communicator::do_close() noexcept {
  // After a failure the other ranks may never come to oneCCL's destructor, which waits for them.
  if (failure_.has_failed() || Runtime::is_exiting()) return;
  if (std::uncaught_exceptions() != 0) {
    return give_up(Error(ErrorCode::aborted, "the communicator was destroyed by an exception", "ccl"));
  }
  if (executor_) executor_->drain();
  try {
    if (!meet_for_closing(rendezvous_, [this] { return failure_.has_failed(); })) return;
    Worker closing;
    const auto task = closing.submit([channels = take_channels()]() mutable { channels.clear(); });
    while (!closing.wait(*task, Worker::Clock::now() + kCloseGlance) && !failure_.has_failed()) {
    }
  } catch (const std::exception& error) {
    give_up(Error(ErrorCode::backend_failure, error.what(), "ccl"));
  }
}

Worker& Communicator::worker_for(const Operation& operation) {
  if (is_message(operation.kind)) return messages_.end_of(operation).worker;
  if (!worker_) {
    worker_.emplace();
    is_special_.store(1, std::memory_order_relaxed);
  }
  return *worker_;
}

Worker::Work Communicator::work_of(const Operation& operation) {
  if (is_message(operation.kind)) return messages_.work(operation);
  return [channel = channel_, operation] { channel->carry_out(operation); };
}

void Communicator::give_up(const Error& cause) noexcept {
  Runtime::note_calls_left_behind();
  (void)failure_.keep(cause);
  is_special_.store(1);
}

void Communicator::fail_late(const Operation& operation) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(operation.timeout);
  const Error late(ErrorCode::timeout,
                   where(operation, rank_, size_) + ": not complete after " + std::to_string(time.count()) +
                       " ms; oneCCL cannot cancel it, so the communicator is no longer usable and oneCCL may still "
                       "write to the buffers",
                   "ccl");
  give_up(late);
  throw Error(late);
}

void Communicator::throw_failure(const Operation& operation) const { failure_.rethrow(where(operation, rank_, size_)); }

}  // namespace tutti::ccl
