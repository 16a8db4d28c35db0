#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "device/device_memory.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/horovod.hpp"
#include "tutti/spi/printable.hpp"
#include "tutti/spi/tensors/named_engine.hpp"

namespace tutti::horovod {

namespace {

/// Horovod's reduction as that of the SPI; Adasum is an operation of its own there.
Reduction reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::average:
      return Reduction::average;
    case ReduceOp::min:
      return Reduction::min;
    case ReduceOp::max:
      return Reduction::max;
    case ReduceOp::product:
      return Reduction::product;
    default:
      return Reduction::sum;
  }
}

/// Finds out where buffers on a device are.
void resolve_memory(spi::NamedTensor& tensor) {
  const bool is_given = tensor.in.where.kind != MemoryKind::host || tensor.out.where.kind != MemoryKind::host;
  if (tensor.stream.is_host() && !is_given) return;
  Operation operation;
  operation.input = tensor.in.data;
  operation.output = tensor.out.data;
  operation.stream = tensor.stream;
  operation.where = tensor.in.where.kind != MemoryKind::host ? tensor.in.where : tensor.out.where;
  const std::string problem = resolve_device_memory(operation, tensor.in.count, tensor.out.count);
  if (!problem.empty()) {
    throw Error(ErrorCode::invalid_argument, "tensor '" + spi::printable(tensor.name) + "': " + problem, "horovod");
  }
  tensor.where = operation.where;
}

spi::NamedTensor tensor_of(spi::TensorOp op, std::string_view name, const ConstBuffer& in, const Buffer& out,
                           const TensorOptions& options) {
  spi::NamedTensor tensor;
  tensor.op = op;
  tensor.name = name;
  tensor.in = in;
  tensor.out = out;
  tensor.shape = options.shape;
  tensor.prescale = options.prescale;
  tensor.postscale = options.postscale;
  if (options.compression == Compression::float16) tensor.wire_type = DataType::float16;
  if (options.compression == Compression::bfloat16) tensor.wire_type = DataType::bfloat16;
  tensor.process_set = options.process_set;
  tensor.priority = options.priority;
  tensor.stream = options.stream;
  resolve_memory(tensor);
  tensor.callback = options.callback;
  return tensor;
}

spi::TensorOp allreduce_of(ReduceOp op) {
  return op == ReduceOp::adasum ? spi::TensorOp::adasum : spi::TensorOp::allreduce;
}

struct ProcessEngine {
  std::mutex mutex;
  std::optional<Engine> engine;
};

/// Never destroyed: shutdown() ends the engine; at exit the job ends it.
ProcessEngine& process_engine() {
  static auto* instance = new ProcessEngine;
  return *instance;
}

}  // namespace

Handle::Handle(Communicator communicator, std::shared_ptr<spi::NamedWork> work) noexcept
    : communicator_(std::move(communicator)), work_(std::move(work)) {}

spi::NamedWork& Handle::checked() const {
  if (work_ == nullptr) throw Error(ErrorCode::invalid_usage, "the handle belongs to no tensor", "horovod");
  return *work_;
}

bool Handle::poll() const { return checked().poll(); }
void Handle::wait() const { (void)checked().wait(spi::Deadline::max()); }
bool Handle::wait_for(std::chrono::nanoseconds duration) const {
  return checked().wait(std::chrono::steady_clock::now() + std::min(duration, kLongestTimeout));
}
std::span<const std::byte> Handle::output() const { return checked().output(); }
std::span<const std::int64_t> Handle::received() const { return checked().received(); }
int Handle::last_joined() const { return checked().last_joined(); }

Engine::Engine(Communicator communicator)
    : communicator_(std::move(communicator)), engine_(&spi::named_engine(communicator_)) {}

int Engine::local_rank() const { return engine_->position().local_rank; }
int Engine::local_size() const { return engine_->position().local_size; }
int Engine::cross_rank() const { return engine_->position().cross_rank; }
int Engine::cross_size() const { return engine_->position().cross_size; }
bool Engine::is_homogeneous() const { return engine_->position().is_homogeneous; }

namespace {

Handle submit(const Communicator& communicator, spi::NamedEngine& engine, spi::NamedTensor tensor) {
  std::vector<spi::NamedTensor> one;
  one.push_back(std::move(tensor));
  return {communicator, std::move(engine.enqueue(std::move(one)).front())};
}

std::vector<Handle> submit_group(const Communicator& communicator, spi::NamedEngine& engine, spi::TensorOp op,
                                 std::span<const GroupedTensor> tensors, const TensorOptions& options) {
  std::vector<spi::NamedTensor> group;
  for (const GroupedTensor& one : tensors) {
    group.push_back(tensor_of(op, one.name, one.in, one.out, options));
    if (op != spi::TensorOp::allgather) group.back().reduction = reduction_of(options.op);
    if (!one.shape.empty()) group.back().shape = one.shape;
    if (one.callback) group.back().callback = one.callback;
  }
  std::vector<Handle> handles;
  if (group.empty()) return handles;
  for (auto& work : engine.enqueue(std::move(group))) handles.emplace_back(communicator, std::move(work));
  return handles;
}

void require_scatterable(ReduceOp op) {
  if (op == ReduceOp::sum || op == ReduceOp::average) return;
  throw Error(ErrorCode::invalid_argument, "reducescatter takes the reductions sum and average only", "horovod");
}

spi::NamedTensor nameless(spi::TensorOp op, int process_set, const Callback& callback) {
  spi::NamedTensor tensor;
  tensor.op = op;
  tensor.process_set = process_set;
  tensor.callback = callback;
  return tensor;
}

}  // namespace

Handle Engine::allreduce(std::string_view name, const ConstBuffer& in, const Buffer& out,
                         const TensorOptions& options) const {
  spi::NamedTensor tensor = tensor_of(allreduce_of(options.op), name, in, out, options);
  tensor.reduction = reduction_of(options.op);
  return submit(communicator_, *engine_, std::move(tensor));
}

std::vector<Handle> Engine::grouped_allreduce(std::span<const GroupedTensor> tensors,
                                              const TensorOptions& options) const {
  return submit_group(communicator_, *engine_, allreduce_of(options.op), tensors, options);
}

std::vector<Handle> Engine::grouped_allgather(std::span<const GroupedTensor> tensors,
                                              const TensorOptions& options) const {
  return submit_group(communicator_, *engine_, spi::TensorOp::allgather, tensors, options);
}

std::vector<Handle> Engine::grouped_reducescatter(std::span<const GroupedTensor> tensors,
                                                  const TensorOptions& options) const {
  require_scatterable(options.op);
  return submit_group(communicator_, *engine_, spi::TensorOp::reducescatter, tensors, options);
}

Handle Engine::allgather(std::string_view name, const ConstBuffer& in, const Buffer& out,
                         const TensorOptions& options) const {
  return submit(communicator_, *engine_, tensor_of(spi::TensorOp::allgather, name, in, out, options));
}

Handle Engine::broadcast(std::string_view name, const ConstBuffer& in, const Buffer& out, int root,
                         const TensorOptions& options) const {
  spi::NamedTensor tensor = tensor_of(spi::TensorOp::broadcast, name, in, out, options);
  tensor.root = root;
  return submit(communicator_, *engine_, std::move(tensor));
}

Handle Engine::alltoall(std::string_view name, const ConstBuffer& in, std::span<const std::int64_t> splits,
                        const Buffer& out, const TensorOptions& options) const {
  spi::NamedTensor tensor = tensor_of(spi::TensorOp::alltoall, name, in, out, options);
  tensor.splits.assign(splits.begin(), splits.end());
  return submit(communicator_, *engine_, std::move(tensor));
}

Handle Engine::reducescatter(std::string_view name, const ConstBuffer& in, const Buffer& out,
                             const TensorOptions& options) const {
  require_scatterable(options.op);
  spi::NamedTensor tensor = tensor_of(spi::TensorOp::reducescatter, name, in, out, options);
  tensor.reduction = reduction_of(options.op);
  return submit(communicator_, *engine_, std::move(tensor));
}

int Engine::join(int process_set) const {
  const Handle handle = join_async(process_set);
  handle.wait();
  return handle.last_joined();
}

void Engine::barrier(int process_set) const { barrier_async(process_set).wait(); }

Handle Engine::join_async(int process_set, const Callback& callback) const {
  return submit(communicator_, *engine_, nameless(spi::TensorOp::join, process_set, callback));
}

Handle Engine::barrier_async(int process_set, const Callback& callback) const {
  return submit(communicator_, *engine_, nameless(spi::TensorOp::barrier, process_set, callback));
}

int Engine::add_process_set(std::span<const int> ranks) const { return engine_->add_process_set(ranks); }
void Engine::remove_process_set(int id) const { engine_->remove_process_set(id); }
std::vector<int> Engine::process_sets() const { return engine_->process_sets(); }
std::vector<int> Engine::process_set_ranks(int id) const { return engine_->process_set_ranks(id); }

bool Engine::process_set_included(int id) const {
  const std::vector<int> ranks = process_set_ranks(id);
  return std::ranges::find(ranks, rank()) != ranks.end();
}

int Engine::process_set_size(int id) const { return static_cast<int>(process_set_ranks(id).size()); }

int Engine::process_set_rank(int id) const {
  const std::vector<int> ranks = process_set_ranks(id);
  const auto place = std::ranges::find(ranks, rank());
  if (place != ranks.end()) return static_cast<int>(place - ranks.begin());
  throw Error(ErrorCode::invalid_argument,
              "rank " + std::to_string(rank()) + " does not belong to the process set " + std::to_string(id),
              "horovod");
}

void Engine::start_timeline(const std::string& path, bool marks_cycles) const {
  engine_->start_timeline(path, marks_cycles);
}
void Engine::stop_timeline() const { engine_->stop_timeline(); }

std::string Engine::stall_warning() const { return engine_->stall_warning(); }

Engine::Autotune Engine::autotune() const {
  const spi::TuningState state = engine_->tuning();
  return {state.is_active, state.fusion_threshold, state.cycle_ms, state.cache, state.best_score};
}

void init(const CommunicatorOptions& options) {
  ProcessEngine& process = process_engine();
  const std::scoped_lock lock(process.mutex);
  if (process.engine) return;
  CommunicatorOptions on_engine = options;
  const std::string& wanted = options.config.text("TUTTI_BACKEND");
  const BackendSpec spec = parse_backend_spec(wanted);
  if (spec.name == "auto") {
    on_engine.config.set("TUTTI_BACKEND", "horovod");
  } else if (spec.name != "horovod") {
    on_engine.config.set("TUTTI_BACKEND", "horovod:" + wanted);
  }
  process.engine.emplace(world(on_engine));
}

void shutdown() {
  ProcessEngine& process = process_engine();
  const std::scoped_lock lock(process.mutex);
  process.engine.reset();
}

bool is_initialized() noexcept {
  ProcessEngine& process = process_engine();
  const std::scoped_lock lock(process.mutex);
  return process.engine.has_value();
}

Engine engine() {
  ProcessEngine& process = process_engine();
  const std::scoped_lock lock(process.mutex);
  if (!process.engine) {
    throw Error(ErrorCode::invalid_usage, "Horovod has not been initialized; use tutti::horovod::init().", "horovod");
  }
  return *process.engine;
}

}  // namespace tutti::horovod
