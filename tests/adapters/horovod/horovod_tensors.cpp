// A program written against Horovod's headers alone: each operation through the functions for frameworks.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "horovod/common/operations.h"

namespace {

using namespace horovod::common;

int rank;
int size;

void expect(bool holds, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, text.c_str());
  std::_Exit(1);
}

template <typename T>
constexpr DataType kType = sizeof(T) == 8 ? HOROVOD_FLOAT64 : HOROVOD_INT32;
template <>
constexpr DataType kType<float> = HOROVOD_FLOAT32;
template <>
constexpr DataType kType<bool> = HOROVOD_BOOL;

#pragma GCC diagnostic ignored "-Wignored-qualifiers"  // of dtype() and shape(), written as frameworks have them

/// A tensor in memory of its own.
class Memory final : public Tensor {
 public:
  Memory(DataType type, TensorShape shape)
      : type_(type),
        shape_(std::move(shape)),
        bytes_(static_cast<std::size_t>(shape_.num_elements()) * DataType_Size(type)) {}
  const DataType dtype() const override { return type_; }
  const TensorShape shape() const override { return shape_; }
  const void* data() const override { return bytes_.data(); }
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  template <typename T>
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> all(bytes_.size() / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), bytes_.data(), bytes_.size());
    return all;
  }

 private:
  DataType type_;
  TensorShape shape_;
  std::vector<char> bytes_;
};

template <typename T>
std::shared_ptr<Memory> tensor(const std::vector<T>& values, std::vector<int64_t> shape = {}) {
  if (shape.empty()) shape.push_back(static_cast<int64_t>(values.size()));
  auto made = std::make_shared<Memory>(kType<T>, TensorShape(shape));
  if (!values.empty()) std::memcpy(const_cast<void*>(made->data()), values.data(), values.size() * sizeof(T));
  return made;
}

/// A framework that keeps the outputs that the library asks for.
class Context final : public OpContext {
 public:
  explicit Context(DataType type) : type_(type) {}
  Status AllocatePersistent(int64_t, std::shared_ptr<PersistentBuffer>*) override {
    return Status::UnknownError("not expected");
  }
  Status AllocateOutput(TensorShape shape, std::shared_ptr<Tensor>* made, std::shared_ptr<ReadyEvent>* event) override {
    return AllocateOutput(0, std::move(shape), made, event);
  }
  Status AllocateOutput(int index, TensorShape shape, std::shared_ptr<Tensor>* made,
                        std::shared_ptr<ReadyEvent>*) override {
    if (fails) return Status::UnknownError("no memory for this output");
    outputs[index] = std::make_shared<Memory>(index == 0 || type_ != HOROVOD_FLOAT64 ? type_ : HOROVOD_INT32, shape);
    *made = outputs[index];
    return Status::OK();
  }
  Status AllocateZeros(int64_t, DataType, std::shared_ptr<Tensor>*) override { return Status::OK(); }
  Framework framework() const override { return PYTORCH; }

  bool fails = false;
  std::map<int, std::shared_ptr<Memory>> outputs;

 private:
  DataType type_;
};

/// Statuses of tensors in flight.
class Waiter {
 public:
  StatusCallback callback() {
    return [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      statuses_.push_back(status);
      changed_.notify_all();
    };
  }
  /// Waits for one more status. The deadline of the whole program is the test's.
  Status next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return seen_ < statuses_.size(); });
    return statuses_[seen_++];
  }
  void expect_ok(const Status& enqueued, const std::string& text) {
    expect(enqueued.ok(), text + ": " + enqueued.reason());
    const Status status = next();
    expect(status.ok(), text + ": " + status.reason());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Status> statuses_;
  std::size_t seen_ = 0;
};

struct Gate final : ReadyEvent {
  bool Ready() const override {
    ++asked;
    return is_open;
  }
  std::atomic<bool> is_open = false;
  mutable std::atomic<int> asked = 0;
};

void check_allreduce() {
  Waiter waiter;
  const auto in = tensor<float>({1.0F * static_cast<float>(rank), 2.0F});
  const auto out = tensor<float>({0, 0});
  waiter.expect_ok(EnqueueTensorAllreduce(nullptr, in, out, {}, "sum", CPU_DEVICE_ID, waiter.callback(), SUM, 0.5, 4.0),
                   "allreduce");
  const float ranks = static_cast<float>(size * (size - 1)) / 2.0F;
  expect(out->values<float>() == std::vector<float>{2.0F * ranks, 4.0F * static_cast<float>(size)}, "sum");
  const auto scalar = std::make_shared<Memory>(HOROVOD_INT32, TensorShape());
  *static_cast<int*>(const_cast<void*>(scalar->data())) = rank;
  waiter.expect_ok(EnqueueTensorAllreduce(nullptr, scalar, scalar, {}, "max", CPU_DEVICE_ID, waiter.callback(), MAX),
                   "allreduce of a scalar");
  expect(scalar->values<int>() == std::vector<int>{size - 1}, "max");
}

void check_groups() {
  Waiter waiter;
  std::vector<std::shared_ptr<OpContext>> contexts(3);
  std::vector<std::shared_ptr<Tensor>> tensors;
  for (int i = 0; i < 3; ++i)
    tensors.push_back(tensor<float>(std::vector<float>(static_cast<std::size_t>(2 * i + 2), 3.0F), {i + 1, 2}));
  std::vector<ReadyEventList> events(3);
  std::vector<std::string> names = {"g0", "g1", "g2"};
  std::vector<StatusCallback> callbacks(3, waiter.callback());
  expect(EnqueueTensorAllreduces(contexts, tensors, tensors, events, names, CPU_DEVICE_ID, callbacks, AVERAGE).ok(),
         "allreduces");
  for (int i = 0; i < 3; ++i) expect(waiter.next().ok(), "a tensor of a group");
  for (const auto& one : tensors)
    for (const float value : static_cast<Memory&>(*one).values<float>()) expect(value == 3.0F, "average");
  const auto context = std::make_shared<Context>(HOROVOD_FLOAT32);
  contexts.assign(3, context);
  callbacks.assign(3, waiter.callback());
  names = {"h0", "h1", "h2"};
  expect(EnqueueTensorAllgathers(contexts, tensors, events, names, CPU_DEVICE_ID, callbacks).ok(), "allgathers");
  for (int i = 0; i < 3; ++i) expect(waiter.next().ok(), "a gathered tensor of a group");
  for (int i = 0; i < 3; ++i)
    expect(context->outputs.at(i)->shape() == TensorShape({size * (i + 1), 2}),
           "shape of gathered tensor " + std::to_string(i));
}

void check_gathers() {
  Waiter waiter;
  const auto context = std::make_shared<Context>(HOROVOD_INT32);
  const auto in = tensor<int>(std::vector<int>(static_cast<std::size_t>(2 * rank), rank), {rank, 2});
  waiter.expect_ok(EnqueueTensorAllgather(context, in, {}, "rows", CPU_DEVICE_ID, waiter.callback()), "allgather");
  std::vector<int> wanted;
  for (int from = 0; from < size; ++from) wanted.insert(wanted.end(), static_cast<std::size_t>(2 * from), from);
  expect(context->outputs.at(0)->values<int>() == wanted, "gathered rows");
  expect(context->outputs.at(0)->shape() == TensorShape({size * (size - 1) / 2, 2}), "shape of gathered rows");

  const auto flags = std::make_shared<Context>(HOROVOD_BOOL);
  const auto flag = std::make_shared<Memory>(HOROVOD_BOOL, TensorShape({1}));
  *static_cast<char*>(const_cast<void*>(flag->data())) = static_cast<char>(rank % 2);
  waiter.expect_ok(EnqueueTensorAllgather(flags, flag, {}, "flags", CPU_DEVICE_ID, waiter.callback()), "bool");
  expect(flags->outputs.at(0)->size() == size, "gathered flags");

  const auto data = tensor<int>({rank, rank});
  waiter.expect_ok(EnqueueTensorBroadcast(nullptr, data, rank == size - 1 ? nullptr : data, size - 1, {}, "root",
                                          CPU_DEVICE_ID, waiter.callback()),
                   "broadcast");
  expect(data->values<int>() == std::vector<int>(2, size - 1), "broadcast rows");
}

/// Rank r sends p + 1 rows to rank p.
void check_exchanges() {
  Waiter waiter;
  std::vector<int> splits(static_cast<std::size_t>(size));
  std::iota(splits.begin(), splits.end(), 1);
  const int rows = std::accumulate(splits.begin(), splits.end(), 0);
  const auto context = std::make_shared<Context>(HOROVOD_FLOAT64);
  const auto in = tensor<double>(std::vector<double>(static_cast<std::size_t>(rows), rank));
  waiter.expect_ok(EnqueueTensorAlltoall(context, in, tensor<int>(splits), {}, "x", CPU_DEVICE_ID, waiter.callback()),
                   "alltoall");
  std::vector<double> wanted;
  for (int from = 0; from < size; ++from) wanted.insert(wanted.end(), static_cast<std::size_t>(rank + 1), from);
  expect(context->outputs.at(0)->values<double>() == wanted, "received rows");
  expect(context->outputs.at(1)->values<int>() == std::vector<int>(static_cast<std::size_t>(size), rank + 1),
         "numbers of received rows");
  const auto none = std::make_shared<Memory>(HOROVOD_INT32, TensorShape({0}));
  const auto equal = tensor<double>(std::vector<double>(static_cast<std::size_t>(size), rank));
  waiter.expect_ok(EnqueueTensorAlltoall(context, equal, none, {}, "y", CPU_DEVICE_ID, waiter.callback()), "equal");
  expect(context->outputs.at(0)->values<double>().size() == static_cast<std::size_t>(size), "equal rows");

  const int all = size + 1;  // rank 0 gets two rows
  const auto scattered = tensor<double>(std::vector<double>(static_cast<std::size_t>(3 * all), 2.0), {all, 3});
  waiter.expect_ok(EnqueueTensorReducescatter(context, scattered, nullptr, {}, "rs", CPU_DEVICE_ID, waiter.callback()),
                   "reducescatter");
  const int mine = rank == 0 ? 2 : 1;
  expect(context->outputs.at(0)->shape() == TensorShape({mine, 3}), "shape of scattered rows");
  expect(
      context->outputs.at(0)->values<double>() == std::vector<double>(static_cast<std::size_t>(3 * mine), 2.0 * size),
      "scattered rows");
  const auto out = tensor<double>(std::vector<double>(static_cast<std::size_t>(3 * mine)), {mine, 3});
  waiter.expect_ok(
      EnqueueTensorReducescatter(nullptr, scattered, out, {}, "rs", CPU_DEVICE_ID, waiter.callback(), AVERAGE),
      "reducescatter into an output");
  expect(out->values<double>() == std::vector<double>(static_cast<std::size_t>(3 * mine), 2.0), "average of rows");
}

void check_events() {
  Waiter waiter;
  const auto gate = std::make_shared<Gate>();
  ReadyEventList events;
  events.AddReadyEvent(nullptr);
  events.AddReadyEvent(gate);
  const auto data = tensor<float>({1.0F});
  const auto enqueue = [&] {
    return EnqueueTensorAllreduce(nullptr, data, data, events, "late", CPU_DEVICE_ID, waiter.callback());
  };
  const Status late = enqueue();
  expect(late.ok(), "a tensor whose data is not ready");
  expect(enqueue().reason() == DUPLICATE_NAME_ERROR.reason(), "the name of a tensor that is not ready");
  const auto other = tensor<float>({1.0F});
  waiter.expect_ok(EnqueueTensorAllreduce(nullptr, other, other, {}, "ready", CPU_DEVICE_ID, waiter.callback()),
                   "another tensor meanwhile");
  expect(data->values<float>() == std::vector<float>{1.0F}, "the data was not taken before it was ready");
  while (gate->asked < 3) {  // asked again and again by a thread of the library
  }
  gate->is_open = true;
  expect(waiter.next().ok(), "the late tensor");
  expect(data->values<float>() == std::vector<float>{static_cast<float>(size)}, "result of the late tensor");
}

void check_errors() {
  Waiter waiter;
  const auto data = tensor<float>({1.0F});
  const auto reduce = [&](const std::shared_ptr<Tensor>& one, int device, int set) {
    return EnqueueTensorAllreduce(nullptr, one, one, {}, "e", device, waiter.callback(), SUM, 1.0, 1.0, set);
  };
  expect(reduce(data, 0, 0).type() == INVALID_ARGUMENT, "a device");
  expect(reduce(data, CPU_DEVICE_ID, 9).reason() ==
             "Allreduce: Process set provided does not exist, or has not been registered.",
         "an unknown process set");
  expect(reduce(std::make_shared<Memory>(HOROVOD_BOOL, TensorShape({1})), CPU_DEVICE_ID, 0).type() == INVALID_ARGUMENT,
         "a sum of bool");
  expect(EnqueueTensorBroadcast(nullptr, data, data, size, {}, "e", CPU_DEVICE_ID, waiter.callback()).type() ==
             INVALID_ARGUMENT,
         "an invalid root");
  expect(
      EnqueueTensorReducescatter(nullptr, data, data, {}, "e", CPU_DEVICE_ID, waiter.callback(), MIN).type() == ABORTED,
      "a minimum of reducescatter");
  const auto failing = std::make_shared<Context>(HOROVOD_FLOAT32);
  failing->fails = true;
  expect(EnqueueTensorAllgather(failing, data, {}, "f", CPU_DEVICE_ID, waiter.callback()).ok(), "allgather");
  expect(waiter.next().reason() == "no memory for this output", "an output that cannot be allocated");
  if (size == 1) return;
  const auto uneven = tensor<float>(std::vector<float>(static_cast<std::size_t>(rank + 1)));
  expect(EnqueueTensorAllreduce(nullptr, uneven, uneven, {}, "u", CPU_DEVICE_ID, waiter.callback()).ok(), "enqueue");
  const Status mismatch = waiter.next();
  expect(mismatch.type() == INVALID_ARGUMENT && mismatch.reason().find("Mismatched ALLREDUCE tensor shapes") == 0,
         "shapes that differ: " + mismatch.reason());
  if (rank == 0) {  // the others have no such tensor yet
    expect(reduce(data, CPU_DEVICE_ID, 0).ok(), "the first tensor of a name");
    expect(reduce(data, CPU_DEVICE_ID, 0).reason().starts_with("Requested to allreduce, allgather, or broadcast"),
           "a name in flight");
  }
  Waiter barrier;
  barrier.expect_ok(EnqueueBarrier(barrier.callback()), "barrier");
  if (rank != 0) expect(reduce(data, CPU_DEVICE_ID, 0).ok(), "the tensor of the other ranks");
  expect(waiter.next().ok(), "the first tensor after an error");
}

void check_join() {
  Waiter waiter;
  if (rank == 0) {
    const auto data = tensor<float>({1.0F});
    waiter.expect_ok(EnqueueTensorAllreduce(nullptr, data, data, {}, "j", CPU_DEVICE_ID, waiter.callback()), "alone");
    expect(data->values<float>() == std::vector<float>{1.0F}, "the ranks that have joined contribute zeros");
  }
  const auto last = tensor<int>({-7});
  waiter.expect_ok(EnqueueJoin(nullptr, last, {}, JOIN_TENSOR_NAME, CPU_DEVICE_ID, waiter.callback()), "join");
  expect(last->values<int>() == std::vector<int>{0}, "the rank that joined last");
}

/// Tensors that no other rank has: the shutdown ends them on all ranks, whichever rank is first.
void check_shutdown() {
  Waiter waiter;
  const auto is_shutdown = [](const Status& status) {
    return status.reason() == SHUT_DOWN_ERROR.reason() && status.type() == UNKNOWN_ERROR;
  };
  const auto data = tensor<float>({1.0F});
  const auto context = std::make_shared<Context>(HOROVOD_FLOAT32);
  const auto gate = std::make_shared<Gate>();
  ReadyEventList events;
  events.AddReadyEvent(gate);
  const std::string mine = std::to_string(rank);
  std::vector<Status> begun = {
      EnqueueTensorAllreduce(nullptr, data, data, events, "late", CPU_DEVICE_ID, waiter.callback())};
  if (size > 1) {
    begun.push_back(EnqueueTensorAllgather(context, data, {}, "only" + mine, CPU_DEVICE_ID, waiter.callback()));
    begun.push_back(EnqueueTensorAllreduce(nullptr, data, data, {}, "sum" + mine, CPU_DEVICE_ID, waiter.callback()));
  }
  horovod_shutdown();
  for (const Status& status : begun) {
    const Status end = status.ok() ? waiter.next() : status;
    expect(is_shutdown(end), "a tensor that the shutdown ended: " + end.reason());
  }
  expect(CheckInitialized().type() == PRECONDITION_ERROR, "the state after the shutdown");
}

}  // namespace

int main() {
  expect(!CheckInitialized().ok(), "the state before horovod_init()");
  for (int round = 0; round < 2; ++round) {
    expect(horovod_init(nullptr, 0, nullptr, nullptr, 0), "horovod_init");
    rank = horovod_rank();
    size = horovod_size();
    check_allreduce();
    check_groups();
    check_gathers();
    check_exchanges();
    check_events();
    check_errors();
    check_join();
    check_shutdown();
  }
  std::printf("rank %d of %d: all results are right\n", rank, size);
}
