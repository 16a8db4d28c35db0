#include "named_front.hpp"

#include <algorithm>
#include <utility>

#include "tutti/spi/device.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {

namespace {

[[noreturn]] void refuse(const Request& request, const std::string& reason) {
  throw Error(ErrorCode::invalid_argument, "tensor '" + spi::printable(request.name) + "': " + reason, "horovod");
}

MessageKind kind_of(spi::TensorOp op) { return static_cast<MessageKind>(op); }
static_assert(static_cast<int>(spi::TensorOp::reducescatter) == static_cast<int>(MessageKind::reducescatter));

spi::LocalPosition position_of(const spi::Peers& peers) {
  spi::LocalPosition position;
  const auto self = static_cast<std::size_t>(peers.rank);
  const std::string& host = peers.hosts[self];
  std::vector<std::string> hosts;  // in the order of their first ranks
  for (std::size_t rank = 0; rank < peers.hosts.size(); ++rank) {
    if (std::ranges::find(hosts, peers.hosts[rank]) == hosts.end()) hosts.push_back(peers.hosts[rank]);
    if (rank < self && peers.hosts[rank] == host) ++position.local_rank;
  }
  const auto ranks_of = [&](const std::string& one) { return static_cast<int>(std::ranges::count(peers.hosts, one)); };
  position.local_size = ranks_of(host);
  for (const std::string& one : hosts) {
    position.is_homogeneous &= ranks_of(one) == position.local_size;
    if (ranks_of(one) <= position.local_rank) continue;
    if (one == host) position.cross_rank = position.cross_size - 1;
    ++position.cross_size;
  }
  --position.cross_size;  // it began with 1
  return position;
}

void check_shape(const Request& request, const spi::NamedTensor& tensor) {
  for (const std::int64_t dimension : request.shape) {
    if (dimension < 0) refuse(request, "its shape " + describe_shape(request.shape) + " has a negative dimension");
  }
  if (request.elements() != tensor.in.count) {
    refuse(request, "its shape " + describe_shape(request.shape) + " does not have the " +
                        std::to_string(tensor.in.count) + " elements of its buffer");
  }
}

void check_buffers(const Request& request, const spi::NamedTensor& tensor) {
  if (tensor.out.data != nullptr && tensor.out.type != tensor.in.type) {
    refuse(request, "its input has type " + std::string(tutti::name(tensor.in.type)) + ", its output " +
                        std::string(tutti::name(tensor.out.type)));
  }
  if (tensor.in.data == nullptr && tensor.in.count > 0) refuse(request, "its input is null");
  const bool is_equally_long = request.kind == MessageKind::allreduce || request.kind == MessageKind::adasum ||
                               request.kind == MessageKind::broadcast;
  if (is_equally_long && (tensor.out.count != tensor.in.count || (tensor.out.data == nullptr && tensor.in.count > 0))) {
    refuse(request, "its output has " + std::to_string(tensor.out.count) + " elements, its input " +
                        std::to_string(tensor.in.count));
  }
}

void check_splits(Request& request, std::size_t set_size) {
  const std::int64_t rows = request.shape.front();
  if (request.splits.empty()) {
    if (rows % static_cast<std::int64_t>(set_size) != 0) {
      refuse(request, "its first dimension " + std::to_string(rows) + " is no multiple of the " +
                          std::to_string(set_size) + " ranks; give the splits");
    }
    request.splits.assign(set_size, rows / static_cast<std::int64_t>(set_size));
  }
  std::int64_t sum = 0;
  for (const std::int64_t split : request.splits) {
    if (split < 0) refuse(request, "a split is negative");
    sum += split;
  }
  if (request.splits.size() != set_size) {
    refuse(request,
           "it has " + std::to_string(request.splits.size()) + " splits for " + std::to_string(set_size) + " ranks");
  }
  if (sum != rows) {
    refuse(request, "its splits have " + std::to_string(sum) + " rows, its input " + std::to_string(rows));
  }
}

/// The operation that the inner backend would carry out on the device.
Operation example_of(const Entry& entry) {
  Operation operation = entry.operation;
  operation.reduction = entry.request.reduction == Reduction::average ? Reduction::sum : entry.request.reduction;
  switch (entry.request.kind) {
    case MessageKind::allgather:
      operation.kind = OpKind::allgatherv;
      break;
    case MessageKind::alltoall:
      operation.kind = OpKind::alltoallv;
      break;
    case MessageKind::broadcast:
      operation.kind = OpKind::broadcast;
      break;
    case MessageKind::reducescatter:
      operation.kind = OpKind::reduce_scatterv;
      break;
    default:
      operation.kind = OpKind::allreduce;
  }
  return operation;
}

}  // namespace

class NamedFront::Work final : public spi::NamedWork {
 public:
  Work(std::shared_ptr<SetEngine> engine, EntryPointer entry) : engine_(std::move(engine)), entry_(std::move(entry)) {}

  bool poll() override { return engine_->poll(*entry_); }
  bool wait(spi::Deadline until) override {
    if (!engine_->wait(*entry_, until)) return false;
    SetEngine::rethrow(*entry_);
    return true;
  }
  std::span<const std::byte> output() const override {
    if (entry_->allocated.data() != nullptr) return {entry_->allocated.data(), entry_->allocated.size()};
    return entry_->output;
  }
  std::span<const std::int64_t> received() const override { return entry_->received; }
  int last_joined() const override { return entry_->last_joined; }

 private:
  std::shared_ptr<SetEngine> engine_;
  EntryPointer entry_;
};

NamedFront::NamedFront(ProcessSets& sets, const spi::Peers& peers) : sets_(sets), position_(position_of(peers)) {}

EntryPointer NamedFront::make_entry(spi::NamedTensor tensor, std::size_t set_size) const {
  auto entry = std::make_shared<Entry>();
  Request& request = entry->request;
  request.kind = kind_of(tensor.op);
  request.name = std::move(tensor.name);
  entry->callback = std::move(tensor.callback);
  if (request.kind == MessageKind::join || request.kind == MessageKind::barrier) {
    request.name = request.kind == MessageKind::join ? "join.noname" : "barrier.noname";
    request.cacheable = false;
    return entry;
  }
  const bool shrinks = tensor.in.type == DataType::float32 || tensor.in.type == DataType::float64;
  const bool is_reduced = request.kind == MessageKind::allreduce || request.kind == MessageKind::adasum;
  request.type = is_reduced && shrinks ? tensor.wire_type.value_or(tensor.in.type) : tensor.in.type;
  request.reduction = tensor.reduction;
  request.root = tensor.root;
  request.priority = tensor.priority;
  request.prescale = tensor.prescale;
  request.postscale = tensor.postscale;
  request.splits = std::move(tensor.splits);
  request.shape = std::move(tensor.shape);
  if (request.shape.empty()) request.shape.push_back(static_cast<std::int64_t>(tensor.in.count));
  check_shape(request, tensor);
  check_buffers(request, tensor);
  const bool is_scaled = request.prescale != 1.0 || request.postscale != 1.0;
  if (is_scaled && !is_floating(request.type)) {
    refuse(request, "prescale and postscale factors need a floating-point type, it has " +
                        std::string(tutti::name(request.type)));
  }
  if (request.kind == MessageKind::alltoall) {
    request.cacheable = false;  // the splits are exchanged with the request
    check_splits(request, set_size);
  }
  if (request.kind == MessageKind::broadcast &&
      (request.root < 0 || static_cast<std::size_t>(request.root) >= set_size)) {
    refuse(request, "its root rank " + std::to_string(request.root) + " is not one of the process set");
  }
  Operation& operation = entry->operation;
  operation.type = tensor.in.type;
  operation.count = tensor.in.count;
  operation.input = tensor.in.data;
  operation.output = tensor.out.data;
  operation.where = tensor.where;
  operation.stream = tensor.stream;
  entry->result_count = tensor.in.count;
  entry->output_capacity = tensor.out.count;
  entry->allocates = tensor.out.data == nullptr;
  return entry;
}

/// Decides where a tensor of a device is processed, and marks the place in its stream.
void NamedFront::place(SetEngine& engine, Entry& entry) {
  const Operation& operation = entry.operation;
  const Device device = operation.stream.is_host() ? operation.where.device : operation.stream.device();
  if (device.is_host()) return;
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  if (!operation.stream.is_host()) entry.ready = runtime.record(operation.stream);
  if (operation.where.kind == MemoryKind::host) return;
  engine.use_device(operation.stream.is_host() ? runtime.stream(device) : operation.stream);
  Request& request = entry.request;
  const bool is_compressed = request.type != operation.type;
  if (is_compressed || request.kind == MessageKind::adasum || !engine.takes_device(runtime.name(), example_of(entry)))
    return;
  request.memory = runtime.name();
}

std::vector<std::shared_ptr<spi::NamedWork>> NamedFront::enqueue(std::vector<spi::NamedTensor> tensors) {
  const int set = tensors.front().process_set;
  const std::shared_ptr<SetEngine> engine = sets_.engine(set);
  const std::size_t set_size = sets_.ranks(set).size();
  std::vector<EntryPointer> entries;
  for (spi::NamedTensor& tensor : tensors) {
    // Ranks of broadcasts are those of the communicator, as upstream.
    if (tensor.op == spi::TensorOp::broadcast && set != 0) {
      const std::vector<int> ranks = sets_.ranks(set);
      const auto place = std::ranges::find(ranks, tensor.root);
      tensor.root = place == ranks.end() ? -1 : static_cast<int>(place - ranks.begin());
    }
    entries.push_back(make_entry(std::move(tensor), set_size));
    place(*engine, *entries.back());
  }
  if (entries.size() > 1) {
    std::string group = entries.front()->request.name;
    for (const EntryPointer& entry : entries) group = std::min(group, entry->request.name);
    for (const EntryPointer& entry : entries) {
      entry->request.group = group;
      entry->request.group_size = static_cast<std::uint32_t>(entries.size());
    }
  }
  engine->enqueue(entries, false);
  std::vector<std::shared_ptr<spi::NamedWork>> works;
  for (EntryPointer& entry : entries) works.push_back(std::make_shared<Work>(engine, std::move(entry)));
  return works;
}

void NamedFront::start_timeline(const std::string& path, bool marks_cycles) {
  sets_.all_ranks().start_timeline(path, marks_cycles);
}

void NamedFront::stop_timeline() { sets_.all_ranks().stop_timeline(); }

spi::TuningState NamedFront::tuning() const {
  const Parameters parameters = sets_.all_ranks().parameters();
  return {.is_active = parameters.is_tuning,
          .fusion_threshold = parameters.fusion_threshold,
          .cycle_ms = static_cast<double>(parameters.cycle_ns) / 1e6,
          .cache = parameters.cache,
          .best_score = parameters.best_score};
}

}  // namespace tutti::horovod
