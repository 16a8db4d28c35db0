#include "ccl_backend.hpp"

#include <chrono>
#include <new>
#include <string>

#include "ccl_types.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti::ccl {

Communicator::Communicator(Runtime& runtime, const spi::CreateContext& context)
    : BackendCommunicator(runtime.interface().capabilities()),
      runtime_(runtime),
      channel_(
          runtime.interface().make_channel(runtime.creation_lock(context.rendezvous), context.rendezvous, Workspace())),
      shortcut_(channel_->shortcut()),
      is_simple_(shortcut_.allreduce != nullptr),
      messages_(runtime.interface(), runtime.creation_lock(context.rendezvous), context.rendezvous) {
  if (!runtime.interface().has_queues()) return;
  queues_.emplace(runtime.interface(), runtime.creation_lock(context.rendezvous), context.rendezvous, context.config);
  executor_.emplace(*queues_, common::StreamExecutor::Identity{"ccl", channel_->rank(), channel_->size()});
}

Communicator::~Communicator() {
  // Leaks the channel: a call on it may never return, and oneCCL would wait for that call.
  if (failure_.has_failed()) (void)new std::shared_ptr<Channel>(channel_);
}

std::vector<std::string> Communicator::do_settings() const {
  std::vector<std::string> settings;
  for (const Variable& variable : runtime_.variables()) settings.push_back(to_text({variable}));
  return settings;
}

void Communicator::do_run(const Operation& operation) {
  // Fast path for the most frequent call.
  if (operation.kind != OpKind::allreduce || operation.timeout.count() != 0 || operation.count == 0 ||
      operation.where.kind != MemoryKind::host || !is_simple_.load(std::memory_order_relaxed) ||
      observer() != nullptr) {
    return run_any(operation);
  }
  const int code = shortcut_.allreduce(shortcut_.handle, operation.input, operation.output, operation.count,
                                       datatype(operation.type), reduction(operation.reduction));
  if (code != 0) [[unlikely]]
    channel_->fail(operation, code);
}

void Communicator::run_any(const Operation& operation) {
  check_alive(operation);
  if (common::StreamExecutor::is_for(operation)) return executor_->run(operation);
  const bool direct = operation.timeout.count() == 0;
  if (direct && !is_message(operation.kind) && (!worker_ || worker_->is_idle())) return channel_->carry_out(operation);
  if (direct && is_message(operation.kind) && messages_.end_of(operation).worker.is_idle()) return work_of(operation)();
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
  give_up(Error(ErrorCode::aborted, "the communicator was aborted", "ccl"));
  if (executor_) executor_->abort();
}

Worker& Communicator::worker_for(const Operation& operation) {
  if (is_message(operation.kind)) return messages_.end_of(operation).worker;
  if (!worker_) {
    worker_.emplace();
    is_simple_.store(false, std::memory_order_relaxed);
  }
  return *worker_;
}

Worker::Work Communicator::work_of(const Operation& operation) {
  if (is_message(operation.kind)) return messages_.work(operation);
  return [channel = channel_, operation] { channel->carry_out(operation); };
}

void Communicator::give_up(const Error& cause) noexcept {
  (void)failure_.keep(cause);
  is_simple_.store(false);
}

void Communicator::fail_late(const Operation& operation) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(operation.timeout);
  const Error late(ErrorCode::timeout,
                   where(operation, channel_->rank(), channel_->size()) + ": not complete after " +
                       std::to_string(time.count()) +
                       " ms; oneCCL cannot cancel it, so the communicator is no longer usable and oneCCL may still "
                       "write to the buffers",
                   "ccl");
  give_up(late);
  throw Error(late);
}

void Communicator::throw_failure(const Operation& operation) const {
  failure_.rethrow(where(operation, channel_->rank(), channel_->size()));
}

}  // namespace tutti::ccl
