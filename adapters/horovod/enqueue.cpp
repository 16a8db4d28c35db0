// The functions by which frameworks submit tensors.
#include <algorithm>
#include <exception>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "horovod/common/operations.h"
#include "job.hpp"
#include "late_tensors.hpp"
#include "report.hpp"
#include "tensors.hpp"
#include "tutti/error.hpp"

namespace horovod {
namespace common {

using tutti::Error;
using tutti::ErrorCode;
using tutti::horovod::Engine;
using tutti::horovod::GroupedTensor;
using tutti::horovod::Handle;
using tutti::horovod::TensorOptions;
using namespace tutti::horovod_adapter;

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text, "horovod"); }

/// Facts that all functions check. `name`: upstream's of the operation.
struct Call {
  const char* name;
  int process_set;
  int device;
};

void check(const Call& call, const Engine& engine) {
  const std::string name = call.name;
  const std::vector<int> sets = engine.process_sets();
  if (std::ranges::find(sets, call.process_set) == sets.end())
    refuse(name + ": Process set provided does not exist, or has not been registered.");
  const std::vector<int> members = engine.process_set_ranks(call.process_set);
  if (std::ranges::find(members, engine.rank()) == members.end())
    refuse(name + ": Rank " + std::to_string(engine.rank()) + " is not a member of the provided process set.");
  if (call.device != CPU_DEVICE_ID)
    refuse(name + ": the tensor is on device " + std::to_string(call.device) + "; only host memory is taken");
}

/// `submit(engine)` with its errors as a status.
template <typename Submit>
Status guarded(const Call& call, const Submit& submit) noexcept {
  const Job::Use use(Job::instance());
  if (use.engine() == nullptr) return Job::instance().is_ending() ? SHUT_DOWN_ERROR : NOT_INITIALIZED_ERROR;
  try {
    check(call, *use.engine());
    submit(*use.engine());
    return Status::OK();
  } catch (const Error& error) {
    return status_of(error);
  } catch (const std::exception& error) {
    return Status::UnknownError(error.what());
  }
}

/// Submits as soon as the events are ready.
template <typename Submit>
Status submit(const Call& call, std::vector<ReadyEventList> events, std::vector<std::string> names,
              std::vector<StatusCallback> callbacks, Submit action) {
  const std::size_t tensors = names.size();
  return LateTensors::instance().add({.events = std::move(events),
                                      .names = std::move(names),
                                      .submit =
                                          [call, action, tensors] {
                                            const Status status = guarded(call, action);
                                            count_tensors(call.name, tensors, status.ok());
                                            return status;
                                          },
                                      .callbacks = std::move(callbacks)});
}

/// Begins a tensor whose result is read in its callback.
template <typename Begin>
void begin_read(Kept kept, Read read, const Begin& begin) {
  const auto result = std::make_shared<Result>();
  Job::instance().keep(result);
  try {
    result->set(begin(completion(std::move(kept), result, std::move(read))));
  } catch (...) {
    result->release();
    throw;
  }
}

TensorOptions options_of(const Call& call, const Tensor& tensor) {
  TensorOptions options;
  options.process_set = call.process_set;
  options.shape = tensor.shape().to_vector();
  return options;
}

void require_rows(const Call& call, const Tensor& tensor) {
  if (tensor.shape().dims() == 0) refuse(std::string(call.name) + ": the tensor is a scalar and has no rows");
}

void require_number(const Call& call, const Tensor& tensor) {
  if (tensor.dtype() == HOROVOD_BOOL) refuse(std::string(call.name) + ": tensors of type bool are not reduced");
}

std::int64_t received_rows(const Handle& handle) {
  return std::accumulate(handle.received().begin(), handle.received().end(), std::int64_t{0});
}

void begin_allgather(const Call& call, const Engine& engine, const std::string& name, const Kept& kept, int output) {
  require_rows(call, *kept.in);
  const auto read = [output](const Kept& own, const Handle& handle) {
    return write_output(own, handle, output, received_rows(handle));
  };
  begin_read(kept, read, [&](tutti::horovod::Callback callback) {
    TensorOptions options = options_of(call, *kept.in);
    options.callback = std::move(callback);
    return engine.allgather(name, input_of(*kept.in), {}, options);
  });
}

/// Rows that a rank gets of a reducescatter: the first ranks get one more.
std::int64_t own_rows(const Engine& engine, int process_set, std::int64_t rows) {
  const std::vector<int> members = engine.process_set_ranks(process_set);
  const auto rank = std::ranges::find(members, engine.rank()) - members.begin();
  const auto ranks = static_cast<std::int64_t>(members.size());
  return rows / ranks + (rank < rows % ranks ? 1 : 0);
}

void begin_reducescatter(const Call& call, const Engine& engine, const std::string& name, const Kept& kept,
                         const TensorOptions& factors) {
  require_rows(call, *kept.in);
  require_number(call, *kept.in);
  TensorOptions options = factors;
  options.shape = kept.in->shape().to_vector();
  const auto begin = [&](tutti::horovod::Callback callback) {
    options.callback = std::move(callback);
    return engine.reducescatter(name, input_of(*kept.in), output_of(kept.out.get()), options);
  };
  if (kept.out != nullptr) {
    (void)begin(completion(kept));
    return;
  }
  const std::int64_t rows = own_rows(engine, call.process_set, options.shape.front());
  const auto read = [rows](const Kept& own, const Handle& handle) { return write_output(own, handle, 0, rows); };
  begin_read(kept, read, begin);
}

/// Begins the tensors of a call one after the other. An error of the first one is thrown; those of later ones go to
/// their callbacks, because tensors are in flight then.
template <typename Begin>
void begin_each(std::span<const Kept> tensors, const Begin& begin) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    try {
      begin(i);
    } catch (const Error& error) {
      if (i == 0) throw;
      if (tensors[i].callback) tensors[i].callback(status_of(error));
    }
  }
}

std::vector<Kept> kept_of(const std::vector<std::shared_ptr<OpContext>>& contexts,
                          const std::vector<std::shared_ptr<Tensor>>& tensors,
                          const std::vector<std::shared_ptr<Tensor>>& outputs,
                          const std::vector<StatusCallback>& callbacks) {
  std::vector<Kept> all;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    all.push_back({contexts[i], tensors[i], outputs.empty() ? nullptr : outputs[i], callbacks[i]});
  return all;
}

/// Arguments of the functions for several tensors.
struct Lists {
  std::vector<std::shared_ptr<OpContext>> contexts;
  std::vector<std::shared_ptr<Tensor>> tensors;
  std::vector<std::shared_ptr<Tensor>> outputs;
  std::vector<ReadyEventList> events;
  std::vector<std::string> names;
  std::vector<StatusCallback> callbacks;
};
Lists lists_of(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor, std::shared_ptr<Tensor> output,
               ReadyEventList events, std::string name, StatusCallback callback) {
  return {{std::move(context)}, {std::move(tensor)}, {std::move(output)},
          {std::move(events)},  {std::move(name)},   {std::move(callback)}};
}

std::vector<std::int64_t> splits_of(const Tensor& splits) {
  if (splits.shape().dims() > 1) refuse("alltoall expects a 1D splits tensor");
  if (splits.dtype() != HOROVOD_INT32) refuse("alltoall expects splits to contain 32-bit integer elements.");
  const auto* const first = static_cast<const std::int32_t*>(splits.data());
  return {first, first + (splits.shape().dims() == 0 ? 0 : splits.shape().dim_size(0))};
}

}  // namespace

Status EnqueueTensorAllreduce(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                              std::shared_ptr<Tensor> output, ReadyEventList ready_event_list, std::string name,
                              int device, StatusCallback callback, ReduceOp reduce_op, double prescale_factor,
                              double postscale_factor, int32_t process_set_id) {
  Lists one = lists_of(std::move(context), std::move(tensor), std::move(output), std::move(ready_event_list),
                       std::move(name), std::move(callback));
  return EnqueueTensorAllreduces(one.contexts, one.tensors, one.outputs, one.events, one.names, device, one.callbacks,
                                 reduce_op, prescale_factor, postscale_factor, process_set_id);
}

Status EnqueueTensorAllreduces(std::vector<std::shared_ptr<OpContext>>& contexts,
                               std::vector<std::shared_ptr<Tensor>>& tensors,
                               std::vector<std::shared_ptr<Tensor>>& outputs,
                               std::vector<ReadyEventList>& ready_event_lists, std::vector<std::string>& names,
                               int device, std::vector<StatusCallback>& callbacks, ReduceOp reduce_op,
                               double prescale_factor, double postscale_factor, int32_t process_set_id) {
  const Call call{"Allreduce", process_set_id, device};
  TensorOptions options;
  options.op = static_cast<tutti::horovod::ReduceOp>(reduce_op);
  options.prescale = prescale_factor;
  options.postscale = postscale_factor;
  options.process_set = process_set_id;
  const auto action = [=, kept = kept_of(contexts, tensors, outputs, callbacks)](const Engine& engine) {
    std::vector<GroupedTensor> group;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      require_number(call, *kept[i].in);
      group.push_back({.name = names[i],
                       .in = input_of(*kept[i].in),
                       .out = output_of(kept[i].out.get()),
                       .shape = kept[i].in->shape().to_vector(),
                       .callback = completion(kept[i])});
    }
    (void)engine.grouped_allreduce(group, options);
  };
  return submit(call, ready_event_lists, names, callbacks, action);
}

Status EnqueueTensorAllgather(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                              ReadyEventList ready_event_list, const std::string& name, int device,
                              StatusCallback callback, int32_t process_set_id) {
  const Call call{"Allgather", process_set_id, device};
  const Kept kept{std::move(context), std::move(tensor), nullptr, callback};
  return submit(call, {std::move(ready_event_list)}, {name}, {std::move(callback)},
                [=](const Engine& engine) { begin_allgather(call, engine, name, kept, 0); });
}

Status EnqueueTensorAllgathers(std::vector<std::shared_ptr<OpContext>>& contexts,
                               std::vector<std::shared_ptr<Tensor>>& tensors,
                               std::vector<ReadyEventList>& ready_event_lists, std::vector<std::string>& names,
                               int device, std::vector<StatusCallback>& callbacks, int32_t process_set_id) {
  const Call call{"Allgather", process_set_id, device};
  const auto action = [=, kept = kept_of(contexts, tensors, {}, callbacks)](const Engine& engine) {
    begin_each(kept, [&](std::size_t i) { begin_allgather(call, engine, names[i], kept[i], static_cast<int>(i)); });
  };
  return submit(call, ready_event_lists, names, callbacks, action);
}

Status EnqueueTensorBroadcast(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                              std::shared_ptr<Tensor> output, int root_rank, ReadyEventList ready_event_list,
                              const std::string& name, int device, StatusCallback callback, int32_t process_set_id) {
  const Call call{"Broadcast", process_set_id, device};
  const Kept kept{std::move(context), std::move(tensor), std::move(output), callback};
  const auto action = [=](const Engine& engine) {
    const std::vector<int> members = engine.process_set_ranks(process_set_id);
    if (std::ranges::find(members, root_rank) == members.end()) {
      refuse("broadcast received invalid root rank " + std::to_string(root_rank) + " for provided process set");
    }
    TensorOptions options = options_of(call, *kept.in);
    options.callback = completion(kept);
    const Tensor& to = kept.out != nullptr ? *kept.out : *kept.in;  // the root's input may be its output
    (void)engine.broadcast(name, input_of(*kept.in), output_of(&to), root_rank, options);
  };
  return submit(call, {std::move(ready_event_list)}, {name}, {std::move(callback)}, action);
}

Status EnqueueTensorAlltoall(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                             std::shared_ptr<Tensor> splits, ReadyEventList ready_event_list, const std::string& name,
                             int device, StatusCallback callback, int32_t process_set_id) {
  const Call call{"Alltoall", process_set_id, device};
  const Kept kept{std::move(context), std::move(tensor), nullptr, callback};
  const auto action = [=](const Engine& engine) {
    require_rows(call, *kept.in);
    const auto read = [](const Kept& own, const Handle& handle) {
      const Status status = write_output(own, handle, 0, received_rows(handle));
      return status.ok() ? write_received(own, handle) : status;
    };
    begin_read(kept, read, [&](tutti::horovod::Callback done) {
      TensorOptions options = options_of(call, *kept.in);
      options.callback = std::move(done);
      return engine.alltoall(name, input_of(*kept.in), splits_of(*splits), {}, options);
    });
  };
  return submit(call, {std::move(ready_event_list)}, {name}, {std::move(callback)}, action);
}

Status EnqueueTensorReducescatter(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                                  std::shared_ptr<Tensor> output, ReadyEventList ready_event_list,
                                  const std::string& name, int device, StatusCallback callback, ReduceOp reduce_op,
                                  int32_t process_set_id, double prescale_factor, double postscale_factor) {
  Lists one = lists_of(std::move(context), std::move(tensor), std::move(output), std::move(ready_event_list), name,
                       std::move(callback));
  return EnqueueTensorReducescatters(one.contexts, one.tensors, one.outputs, one.events, one.names, device,
                                     one.callbacks, reduce_op, process_set_id, prescale_factor, postscale_factor);
}

Status EnqueueTensorReducescatters(std::vector<std::shared_ptr<OpContext>>& contexts,
                                   std::vector<std::shared_ptr<Tensor>>& tensors,
                                   std::vector<std::shared_ptr<Tensor>>& outputs,
                                   std::vector<ReadyEventList>& ready_event_lists, std::vector<std::string>& names,
                                   int device, std::vector<StatusCallback>& callbacks, ReduceOp reduce_op,
                                   int32_t process_set_id, double prescale_factor, double postscale_factor) {
  if (reduce_op != SUM && reduce_op != AVERAGE)
    return Status::Aborted("Reducescatter currently only supports AVERAGE and SUM.");
  const Call call{"Reducescatter", process_set_id, device};
  TensorOptions options;
  options.op = static_cast<tutti::horovod::ReduceOp>(reduce_op);
  options.prescale = prescale_factor;
  options.postscale = postscale_factor;
  options.process_set = process_set_id;
  const auto action = [=, kept = kept_of(contexts, tensors, outputs, callbacks)](const Engine& engine) {
    begin_each(kept, [&](std::size_t i) { begin_reducescatter(call, engine, names[i], kept[i], options); });
  };
  return submit(call, ready_event_lists, names, callbacks, action);
}

Status EnqueueJoin(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> output_last_joined_rank,
                   ReadyEventList ready_event_list, const std::string& name, int device, StatusCallback callback,
                   int32_t process_set_id) {
  const Call call{"Join", process_set_id, device};
  const Kept kept{std::move(context), nullptr, std::move(output_last_joined_rank), callback};
  const auto action = [=](const Engine& engine) {
    const auto read = [](const Kept& own, const Handle& handle) {
      const int last = handle.last_joined();
      if (own.out != nullptr) *static_cast<std::int32_t*>(output_of(own.out.get()).data) = last;
      return Status::OK();
    };
    begin_read(kept, read,
               [&](const tutti::horovod::Callback& done) { return engine.join_async(process_set_id, done); });
  };
  return submit(call, {std::move(ready_event_list)}, {name}, {std::move(callback)}, action);
}

Status EnqueueBarrier(StatusCallback callback, int32_t process_set_id) {
  const Call call{"Barrier", process_set_id, CPU_DEVICE_ID};
  return guarded(call, [&](const Engine& engine) {
    (void)engine.barrier_async(process_set_id, completion({.callback = std::move(callback)}));
  });
}

}  // namespace common
}  // namespace horovod
