#include "ccl_queues.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "common/device_image.hpp"
#include "common/operation_timing.hpp"
#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

/// Whether the input or the output is not device memory, although operation.where may say device for the whole
/// operation.
bool needs_image(const Operation& operation) {
  spi::DeviceRuntime& runtime = spi::device_runtime(operation.stream.device());
  for (const void* pointer : {operation.input, static_cast<const void*>(operation.output)}) {
    if (pointer == nullptr) continue;
    const auto where = runtime.locate(operation.stream, pointer).where;
    if (where && where->kind != MemoryKind::device) return true;
  }
  return false;
}

}  // namespace

/// State shared with calls on workers, which may be left behind.
struct Queues::Shared {
  std::mutex mutex;
  std::optional<Error> failure;                       ///< error of the first call that failed
  std::vector<std::weak_ptr<spi::DeviceGate>> gates;  ///< some of them are open already
  std::deque<common::OperationTiming> timings;        ///< of operations that oneCCL enqueued, if observed

  void fail(const Error& error) {
    const std::scoped_lock lock(mutex);
    if (!failure) failure = error;
  }
  void check() {
    const std::scoped_lock lock(mutex);
    if (failure) throw Error(*failure);
  }
  void add(const std::shared_ptr<spi::DeviceGate>& gate) {
    const std::scoped_lock lock(mutex);
    std::erase_if(gates, [](const auto& known) { return known.expired(); });
    gates.push_back(gate);
  }
  void report_timings() {
    const std::scoped_lock lock(mutex);
    while (!timings.empty() && timings.front().is_over()) {
      timings.front().report();
      timings.pop_front();
    }
  }
};

/// An operation for a worker. Members are destroyed in reverse order, so the workspace outlives those that use it.
struct Queues::Job {
  std::shared_ptr<Shared> shared;
  Operation operation;
  std::shared_ptr<Workspace> workspace;
  std::unique_ptr<spi::DeviceEvent> ready;     ///< complete when the stream has reached the operation
  std::unique_ptr<common::DeviceImage> image;  ///< null: oneCCL uses the buffers themselves
  Worker::Work call;
  std::shared_ptr<spi::DeviceGate> gate;  ///< holds back later commands on its stream

  void run() {
    try {
      ready->wait();
      shared->check();  // after a failure other ranks may be at another operation
      if (image != nullptr) image->upload();
      run_call();
      if (image == nullptr) return;
      image->download();
      workspace->runtime().record(workspace->stream())->wait();
      image->finish();
    } catch (const Error& error) {
      shared->fail(error);
    } catch (const std::exception& error) {
      shared->fail(Error(ErrorCode::system, error.what(), "ccl"));
    }
  }

 private:
  void run_call() const {
    std::optional<common::OperationTiming> timing;
    if (observer() != nullptr) timing.emplace(operation.kind, workspace->stream());
    call();
    if (!timing) return;
    timing->stop();
    timing->wait();
    timing->report();
  }
};

Queues::Queues(const Interface& interface, CreationLock& creation_lock, const Rendezvous& rendezvous,
               const Config& config)
    : interface_(interface),
      creation_lock_(creation_lock),
      rendezvous_(rendezvous),
      way_(config.text("TUTTI_CCL_QUEUES")),
      shared_(std::make_shared<Shared>()),
      messages_(interface, creation_lock, rendezvous) {}

Queues::~Queues() = default;

void Queues::enqueue(std::span<const Operation> operations, Finish& finish) {
  std::vector<std::shared_ptr<Job>> jobs;
  for (const Operation& operation : operations) {
    // Operations that oneCCL cannot take directly go to the worker, and so do operations that follow them: all ranks
    // must call oneCCL in the same order, and the channel serves one thread at a time.
    const bool follows = !jobs.empty() || !worker_for(operation).worker.is_idle();
    if (enqueues(operation) && !follows && !needs_image(operation)) {
      enqueue_directly(operation);
    } else {
      jobs.push_back(prepare(operation));
    }
  }
  // Gates are closed last: a gate closed earlier would keep its stream from ever reaching the other operations of a
  // group.
  for (auto job = jobs.begin(); job != jobs.end(); ++job) {
    const Stream& stream = (*job)->operation.stream;
    const auto before =
        std::find_if(jobs.begin(), job, [&](const auto& other) { return other->operation.stream == stream; });
    if (before != job) {
      (*job)->gate = (*before)->gate;
    } else {
      (*job)->gate = spi::device_runtime(stream.device()).hold(stream);
      shared_->add((*job)->gate);
    }
  }
  // A gate opens when its last owner is destroyed, that is when its jobs have ended, with or without an error.
  for (std::shared_ptr<Job>& job : jobs) {
    Worker& worker = worker_for(job->operation).worker;
    (void)worker.submit([job = std::move(job)] { job->run(); });
  }
  finish = conclusion();
}

std::shared_ptr<Queues::Job> Queues::prepare(const Operation& operation) {
  auto job = std::make_shared<Job>();
  job->shared = shared_;
  job->operation = operation;
  job->workspace = worker_for(operation).workspaces.beside(operation.stream);
  spi::DeviceRuntime& runtime = job->workspace->runtime();
  job->ready = runtime.record(operation.stream);
  if (!needs_image(operation)) {
    job->call = work_of(operation, job->workspace);
    return job;
  }
  job->image = std::make_unique<common::DeviceImage>(job->workspace->pool(), runtime, job->workspace->stream(),
                                                     operation, rendezvous_.size());
  job->call = work_of(job->image->operation(), job->workspace);
  return job;
}

void Queues::enqueue_directly(const Operation& operation) {
  spi::DeviceRuntime& runtime = spi::device_runtime(operation.stream.device());
  shared_->check();
  shared_->report_timings();
  const std::shared_ptr<Workspace> workspace = worker_for(operation).workspaces.beside(operation.stream);
  runtime.wait(workspace->stream(), *runtime.record(operation.stream));
  Channel& channel = channel_for(operation, *workspace);
  std::optional<common::OperationTiming> timing;
  if (observer() != nullptr) timing.emplace(operation.kind, workspace->stream());
  channel.enqueue(operation, *workspace);
  if (timing) {
    timing->stop();
    const std::scoped_lock lock(shared_->mutex);
    shared_->timings.push_back(std::move(*timing));
  }
  runtime.wait(operation.stream, *runtime.record(workspace->stream()));
}

ChannelWorker& Queues::worker_for(const Operation& operation) {
  if (is_message(operation.kind)) return messages_.end_of(operation);
  if (!channel_worker_) channel_worker_.emplace();
  return *channel_worker_;
}

namespace {

/// The channel of all ranks; the first operation creates it.
Channel& made(std::unique_ptr<Channel>& channel, const Interface& interface, CreationLock& creation_lock,
              const Rendezvous& rendezvous, const Workspace& workspace) {
  if (channel == nullptr) {
    std::vector<int> members(static_cast<std::size_t>(rendezvous.size()));
    std::iota(members.begin(), members.end(), 0);
    channel = interface.make_channel(creation_lock, rendezvous.subset(members, "ccl.device"), workspace);
  }
  return *channel;
}

}  // namespace

Channel& Queues::channel_for(const Operation& operation, const Workspace& workspace) {
  return made(*worker_for(operation).channel, interface_, creation_lock_, rendezvous_, workspace);
}

Worker::Work Queues::work_of(const Operation& operation, const std::shared_ptr<Workspace>& workspace) {
  if (is_message(operation.kind)) return messages_.work(operation, workspace);
  return [operation, workspace, channel = worker_for(operation).channel, &interface = interface_,
          &creation_lock = creation_lock_, rendezvous = rendezvous_] {
    made(*channel, interface, creation_lock, rendezvous, *workspace).carry_out(operation, *workspace);
  };
}

// Messages go to workers, because send and recv block until the peer comes, and may be enqueued in any order.
bool Queues::enqueues(const Operation& operation) {
  if (is_message(operation.kind) || way_ == "thread") return false;
  if (way_ == "direct") return true;
  const Device device = operation.stream.device();
  const auto known = std::ranges::find(devices_, device, &KnownDevice::device);
  if (known != devices_.end()) return known->is_gpu;
  const std::vector<DeviceInfo> all = spi::device_runtime(device).devices();
  const auto info = std::ranges::find(all, device, &DeviceInfo::device);
  return devices_.emplace_back(KnownDevice{device, info != all.end() && info->is_gpu}).is_gpu;
}

std::optional<Error> Queues::asynchronous_error() {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->failure;
}

void Queues::abort() noexcept {
  const std::scoped_lock lock(shared_->mutex);
  for (const auto& known : shared_->gates) {
    if (const auto gate = known.lock()) gate->open();
  }
}

common::StreamLibrary::Finish Queues::conclusion() const {
  return [shared = shared_] {
    shared->check();
    shared->report_timings();
  };
}

}  // namespace tutti::ccl
