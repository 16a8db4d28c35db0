#include <string>
#include <utility>

#include "c_status.hpp"
#include "tutti/horovod.h"
#include "tutti/horovod.hpp"
#include "tutti/stream.hpp"

struct tutti_horovod_handle {
  tutti::horovod::Handle handle;
};

namespace {

using tutti::Buffer;
using tutti::ConstBuffer;
using tutti::Error;
using tutti::ErrorCode;
using tutti::detail::checked_output;
using tutti::detail::guarded;
using tutti::horovod::Compression;
using tutti::horovod::Engine;
using tutti::horovod::Handle;
using tutti::horovod::ReduceOp;

static_assert(TUTTI_HOROVOD_PRODUCT == static_cast<int>(ReduceOp::product));

std::string text_of(const char* text, const char* what) {
  if (text == nullptr) throw Error(ErrorCode::invalid_argument, std::string(what) + " is null");
  return text;
}

ReduceOp op_of(tutti_horovod_reduce_op op) {
  if (static_cast<unsigned>(op) > TUTTI_HOROVOD_PRODUCT) {
    throw Error(ErrorCode::invalid_argument,
                "reduction " + std::to_string(static_cast<int>(op)) +
                    " does not exist; accepted: 0 (TUTTI_HOROVOD_AVERAGE) to 5 (TUTTI_HOROVOD_PRODUCT)");
  }
  return static_cast<ReduceOp>(op);
}

Compression compression_of(int compression) {
  if (compression < 0 || compression > static_cast<int>(Compression::bfloat16)) {
    throw Error(ErrorCode::invalid_argument, "compression " + std::to_string(compression) +
                                                 " does not exist; accepted: 0 (none), 1 (float16), 2 (bfloat16)");
  }
  return static_cast<Compression>(compression);
}

/// The stream of a tensor in device memory; that of the host for others.
tutti::Stream stream_of(const tutti_horovod_tensor& tensor) {
  if (tensor.stream_module == nullptr && tensor.stream == nullptr) return {};
  if (tensor.stream_module == nullptr || tensor.stream == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                std::string("a tensor in device memory needs both its stream_module and its stream; ") +
                    (tensor.stream == nullptr ? "stream" : "stream_module") + " is null");
  }
  return tutti::adopt_stream(tensor.stream_module, tensor.stream);
}

tutti::horovod::TensorOptions options_of(const tutti_horovod_tensor& tensor) {
  tutti::horovod::TensorOptions options;
  options.op = op_of(tensor.op);
  options.prescale = tensor.prescale;
  options.postscale = tensor.postscale;
  options.compression = compression_of(tensor.compression);
  options.process_set = tensor.process_set;
  options.priority = tensor.priority;
  options.stream = stream_of(tensor);
  if (tensor.shape != nullptr) options.shape.assign(tensor.shape, tensor.shape + tensor.dimensions);
  return options;
}

Handle enqueue(const Engine& engine, const tutti_horovod_tensor& tensor) {
  const tutti::DataType type = tutti::detail::type_of(tensor.type);
  const std::string name = text_of(tensor.name, "the tensor's name");
  const ConstBuffer in(tensor.in, tensor.in_count, type);
  const Buffer out(tensor.out, tensor.out_count, type);
  const tutti::horovod::TensorOptions options = options_of(tensor);
  switch (tensor.operation) {
    case TUTTI_HOROVOD_ALLREDUCE:
      return engine.allreduce(name, in, out, options);
    case TUTTI_HOROVOD_ALLGATHER:
      return engine.allgather(name, in, out, options);
    case TUTTI_HOROVOD_BROADCAST:
      return engine.broadcast(name, in, out, tensor.root, options);
    case TUTTI_HOROVOD_ALLTOALL: {
      if (tensor.splits == nullptr) return engine.alltoall(name, in, {}, out, options);
      const std::size_t ranks = engine.process_set_ranks(tensor.process_set).size();
      return engine.alltoall(name, in, {tensor.splits, ranks}, out, options);
    }
    case TUTTI_HOROVOD_REDUCESCATTER:
      return engine.reducescatter(name, in, out, options);
  }
  throw Error(ErrorCode::invalid_argument,
              "operation " + std::to_string(static_cast<int>(tensor.operation)) + " of a tensor does not exist");
}

std::vector<Handle> enqueue_group(const Engine& engine, std::span<const tutti_horovod_tensor> tensors) {
  std::vector<tutti::horovod::GroupedTensor> group;
  for (const tutti_horovod_tensor& tensor : tensors) {
    if (tensor.operation != tensors.front().operation)
      throw Error(ErrorCode::invalid_argument, "the tensors of a group have different operations");
    (void)text_of(tensor.name, "a tensor's name");
    const tutti::DataType type = tutti::detail::type_of(tensor.type);
    group.push_back({.name = tensor.name,
                     .in = {tensor.in, tensor.in_count, type},
                     .out = {tensor.out, tensor.out_count, type},
                     .shape = options_of(tensor).shape});
    if (stream_of(tensor) != stream_of(tensors.front()))
      throw Error(ErrorCode::invalid_argument, "the tensors of a group have different streams");
  }
  if (group.empty()) return {};
  const tutti::horovod::TensorOptions options = options_of(tensors.front());
  switch (tensors.front().operation) {
    case TUTTI_HOROVOD_ALLREDUCE:
      return engine.grouped_allreduce(group, options);
    case TUTTI_HOROVOD_ALLGATHER:
      return engine.grouped_allgather(group, options);
    case TUTTI_HOROVOD_REDUCESCATTER:
      return engine.grouped_reducescatter(group, options);
    default:
      throw Error(ErrorCode::invalid_argument, "groups are those of allreduce, allgather and reducescatter");
  }
}

/// -1 before init, as upstream.
template <typename Value>
int number(const Value& value) noexcept {
  try {
    return tutti::horovod::is_initialized() ? value(tutti::horovod::engine()) : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

}  // namespace

tutti_status tutti_horovod_init(void) {
  return guarded([] { tutti::horovod::init(); });
}
tutti_status tutti_horovod_shutdown(void) {
  return guarded([] { tutti::horovod::shutdown(); });
}
int tutti_horovod_is_initialized(void) { return tutti::horovod::is_initialized() ? 1 : 0; }

int tutti_horovod_rank(void) {
  return number([](const Engine& engine) { return engine.rank(); });
}
int tutti_horovod_size(void) {
  return number([](const Engine& engine) { return engine.size(); });
}
int tutti_horovod_local_rank(void) {
  return number([](const Engine& engine) { return engine.local_rank(); });
}
int tutti_horovod_local_size(void) {
  return number([](const Engine& engine) { return engine.local_size(); });
}
int tutti_horovod_cross_rank(void) {
  return number([](const Engine& engine) { return engine.cross_rank(); });
}
int tutti_horovod_cross_size(void) {
  return number([](const Engine& engine) { return engine.cross_size(); });
}

tutti_status tutti_horovod_enqueue(const tutti_horovod_tensor* tensor, tutti_horovod_handle_t* handle) {
  return guarded([&] {
    tutti_horovod_handle_t& result = checked_output(handle, "handle");
    result = new tutti_horovod_handle{enqueue(tutti::horovod::engine(), checked_output(tensor, "tensor"))};
  });
}

tutti_status tutti_horovod_enqueue_group(const tutti_horovod_tensor* tensors, int count,
                                         tutti_horovod_handle_t* handles) {
  return guarded([&] {
    if (count < 0) throw Error(ErrorCode::invalid_argument, "count is negative");
    if (count == 0) return;
    (void)checked_output(tensors, "tensors");
    (void)checked_output(handles, "handles");
    auto group = enqueue_group(tutti::horovod::engine(), {tensors, static_cast<std::size_t>(count)});
    for (Handle& one : group) *handles++ = new tutti_horovod_handle{std::move(one)};
  });
}

int tutti_horovod_poll(tutti_horovod_handle_t handle) {
  int complete = 0;
  (void)guarded([&] { complete = checked_output(handle, "handle").handle.poll() ? 1 : 0; });
  return complete;
}

tutti_status tutti_horovod_wait(tutti_horovod_handle_t handle) {
  return guarded([&] { checked_output(handle, "handle").handle.wait(); });
}

tutti_status tutti_horovod_output(tutti_horovod_handle_t handle, const void** data, uint64_t* bytes) {
  return guarded([&] {
    const auto output = checked_output(handle, "handle").handle.output();
    checked_output(data, "data") = output.data();
    checked_output(bytes, "bytes") = output.size();
  });
}

void tutti_horovod_free(tutti_horovod_handle_t handle) { delete handle; }

tutti_status tutti_horovod_join(int process_set, int* last_joined) {
  return guarded([&] { checked_output(last_joined, "last_joined") = tutti::horovod::engine().join(process_set); });
}

tutti_status tutti_horovod_barrier(int process_set) {
  return guarded([&] { tutti::horovod::engine().barrier(process_set); });
}

tutti_status tutti_horovod_add_process_set(const int* ranks, int count, int* process_set) {
  return guarded([&] {
    int& id = checked_output(process_set, "process_set");
    if (ranks == nullptr || count < 0) throw Error(ErrorCode::invalid_argument, "ranks is null or count negative");
    id = tutti::horovod::engine().add_process_set({ranks, static_cast<std::size_t>(count)});
  });
}

tutti_status tutti_horovod_remove_process_set(int process_set) {
  return guarded([&] { tutti::horovod::engine().remove_process_set(process_set); });
}

int tutti_horovod_process_set_rank(int process_set) {
  return number([&](const Engine& engine) { return engine.process_set_rank(process_set); });
}
int tutti_horovod_process_set_size(int process_set) {
  return number([&](const Engine& engine) { return engine.process_set_size(process_set); });
}
int tutti_horovod_process_set_included(int process_set) {
  return number([&](const Engine& engine) { return engine.process_set_included(process_set) ? 1 : 0; });
}

tutti_status tutti_horovod_start_timeline(const char* path, int marks_cycles) {
  return guarded([&] { tutti::horovod::engine().start_timeline(text_of(path, "path"), marks_cycles != 0); });
}

tutti_status tutti_horovod_stop_timeline(void) {
  return guarded([] { tutti::horovod::engine().stop_timeline(); });
}

tutti_status tutti_horovod_autotune_state(tutti_horovod_autotune* state) {
  return guarded([&] {
    const Engine::Autotune now = tutti::horovod::engine().autotune();
    checked_output(state, "state") = {now.is_active ? 1 : 0, now.fusion_threshold, now.cycle_ms, now.cache ? 1 : 0,
                                      now.best_score};
  });
}
