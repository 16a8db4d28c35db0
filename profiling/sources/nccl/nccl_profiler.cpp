// NCCL's profiler plug-in: operations of a program that preloads nothing. NCCL opens it where NCCL_PROFILER_PLUGIN
// names it and calls it for every operation.
#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string_view>

#include "session/recorder.hpp"
#include "sources/common/loaded_library.hpp"
#include "sources/nccl/nccl_kernel_times.hpp"
#include "sources/nccl/nccl_profiler_api.hpp"

namespace tutti::profiling::nccl::plugin {
namespace {

constexpr int kSuccess = 0;

/// A function of NCCL by the name that events have.
struct FunctionRow {
  std::string_view event;  ///< "AllReduce"
  std::string_view function;
  std::string_view operation;
  bool has_block_per_rank;
};
constexpr std::array<FunctionRow, 11> kFunctions = {{{"AllReduce", "ncclAllReduce", "allreduce", false},
                                                     {"Reduce", "ncclReduce", "reduce", false},
                                                     {"Broadcast", "ncclBroadcast", "broadcast", false},
                                                     {"Bcast", "ncclBcast", "broadcast", false},
                                                     {"ReduceScatter", "ncclReduceScatter", "reduce_scatter", true},
                                                     {"AllGather", "ncclAllGather", "allgather", true},
                                                     {"AlltoAll", "ncclAlltoAll", "alltoall", true},
                                                     {"Gather", "ncclGather", "gather", true},
                                                     {"Scatter", "ncclScatter", "scatter", true},
                                                     {"Send", "ncclSend", "send", false},
                                                     {"Recv", "ncclRecv", "recv", false}}};

struct TypeRow {
  std::string_view event;  ///< "ncclFloat32"
  std::uint64_t bytes;
};
constexpr std::array<TypeRow, 12> kTypes = {{{"ncclInt8", 1},
                                             {"ncclUint8", 1},
                                             {"ncclInt32", 4},
                                             {"ncclUint32", 4},
                                             {"ncclInt64", 8},
                                             {"ncclUint64", 8},
                                             {"ncclFloat16", 2},
                                             {"ncclFloat32", 4},
                                             {"ncclFloat64", 8},
                                             {"ncclBfloat16", 2},
                                             {"ncclFloat8e4m3", 1},
                                             {"ncclFloat8e5m2", 1}}};
/// Names of the types as the other sources have them.
constexpr std::array<std::string_view, 12> kTypeNames = {"int8",    "uint8",    "int32",       "uint32",
                                                         "int64",   "uint64",   "float16",     "float32",
                                                         "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};

/// Functions by their numbers in version 1; 5 is a send or receive as a kernel carries it out.
constexpr std::array<const char*, 8> kNumberedFunctions = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                           "AllReduce", "SendRecv", "Send",      "Recv"};

struct Communicator {
  CommunicatorId id = 0;    ///< 0: NCCL does not describe it
  std::uint32_t ranks = 0;  ///< 0: unknown
  DeviceId device = 0;      ///< 0: device times are not wanted
  std::atomic<std::uint64_t> collectives = 0;
};

/// An event that has begun.
struct Pending {
  std::atomic<bool> is_used = false;
  bool has_host_call = false;
  Record record;
  NameId function = 0;
};
constexpr std::size_t kMostPending = 4096;
std::array<Pending, kMostPending> pending;
std::atomic<std::uint32_t> next_pending{0};

/// Null if thousands of events are under way.
Pending* take_pending() noexcept {
  for (std::size_t i = 0; i < 64; ++i) {
    Pending& one = pending[next_pending.fetch_add(1, std::memory_order_relaxed) % kMostPending];
    // Acquire: its last user has read it.
    if (!one.is_used.load(std::memory_order_relaxed) && !one.is_used.exchange(true, std::memory_order_acquire))
      return &one;
  }
  return nullptr;
}

/// The source that stands in front of NCCL's functions sees the same operations.
bool is_needed() noexcept { return source_wanted("nccl") && !is_library_loaded("libtutti_source_nccl.so"); }

int open_communicator(void** context, int* mask, const char* name, std::uint64_t key, int ranks, int rank,
                      std::uint64_t events) noexcept {
  *context = nullptr;
  *mask = 0;
  if (!is_needed()) return kSuccess;
  auto* made = new (std::nothrow) Communicator;
  if (made == nullptr) return kSuccess;
  made->id = add_communicator({.key = key == 0 ? 1 : key,
                               .name = name == nullptr ? std::string_view() : std::string_view(name),
                               .rank = rank,
                               .size = ranks});
  made->ranks = static_cast<std::uint32_t>(ranks);
  *context = made;
  *mask = static_cast<int>(events);
  return kSuccess;
}

/// An operation as NCCL describes it: the record of it, and the function's name.
struct Described {
  Record record;
  NameId function = 0;
  bool is_message = false;
};
Described describe(const Communicator& communicator, const char* name, std::size_t count, const char* type) noexcept {
  std::string_view wanted = name;
  if (wanted.starts_with("nccl")) wanted.remove_prefix(4);
  FunctionRow row{wanted, name, wanted, false};
  for (const FunctionRow& known : kFunctions) {
    if (known.event == wanted) row = known;
  }
  std::uint64_t element = 0;
  std::string_view type_name = type == nullptr ? std::string_view() : std::string_view(type);
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].event != type_name) continue;
    element = kTypes[i].bytes;
    type_name = kTypeNames[i];
    break;
  }
  const std::uint64_t bytes = count * element;
  static const SourceId source = add_source("BACKEND_NCCL", 7);
  return {.record = {.kind = Kind::operation,
                     .source = source,
                     .name = intern(row.operation),
                     .context = add_context(
                         {.operation = row.operation,
                          .type = type_name,
                          .backend = "nccl",
                          .bytes = row.has_block_per_rank ? bytes * std::max(communicator.ranks, 1U) : bytes,
                          .ranks = communicator.ranks}),
                     .bytes = bytes,
                     .communicator = communicator.id},
          .function = intern(row.function),
          .is_message = row.operation == "send" || row.operation == "recv"};
}

/// Whether an event is recorded: within an operation of tutti, its observer reports it.
bool is_wanted(const void* context, const char* name) noexcept {
  return context != nullptr && name != nullptr && is_recording() && current_context() == 0;
}

void begin(void* context, void** handle, const char* name, std::size_t count, const char* type,
           bool has_host_call) noexcept {
  *handle = nullptr;
  if (!is_wanted(context, name)) return;
  Pending* event = take_pending();
  if (event == nullptr) return;
  auto& communicator = *static_cast<Communicator*>(context);
  const Described operation = describe(communicator, name, count, type);
  event->has_host_call = has_host_call;
  event->function = operation.function;
  event->record = operation.record;
  event->record.begin_ns = now_ns();
  if (!operation.is_message)
    event->record.sequence = communicator.collectives.fetch_add(1, std::memory_order_relaxed) + 1;
  *handle = event;
}

/// Begins an operation that a kernel carries out.
void begin_task(void* context, void** handle, const char* name, std::size_t count, const char* type,
                std::uint8_t channels) noexcept {
  if (!is_wanted(context, name)) return;
  const auto& communicator = *static_cast<const Communicator*>(context);
  if (communicator.device == 0) return;
  const Described operation = describe(communicator, name, count, type);
  *handle = kernel_times().begin_task({.kind = Kind::device,
                                       .source = operation.record.source,
                                       .name = operation.function,
                                       .context = operation.record.context,
                                       .device = communicator.device},
                                      channels);
}

int stop_event(void* handle) {
  if (handle == nullptr || kernel_times().task_of(handle) != nullptr) return kSuccess;
  if (KernelChannel* channel = kernel_times().channel_of(handle); channel != nullptr) {
    kernel_times().end_channel(*channel);
    return kSuccess;
  }
  auto& event = *static_cast<Pending*>(handle);
  event.record.end_ns = now_ns();
  record(event.record);
  if (event.has_host_call) {
    Record call = event.record;
    call.kind = Kind::host;
    call.name = event.function;
    call.communicator = 0;
    call.sequence = 0;
    record(call);
  }
  event.is_used.store(false, std::memory_order_release);
  return kSuccess;
}

int record_state(void* handle, int state, void* arguments) {
  if (state != kKernelChannelStop || arguments == nullptr) return kSuccess;
  if (KernelChannel* channel = kernel_times().channel_of(handle); channel != nullptr)
    channel->end = *static_cast<const std::uint64_t*>(arguments);
  return kSuccess;
}

int close_communicator(void* context) {
  kernel_times().finish();
  delete static_cast<Communicator*>(context);
  return kSuccess;
}

int open5(void** context, std::uint64_t key, int* mask, const char* name, int, int ranks, int rank, void*) {
  // Kernels that tell their times are slower, so that they do it on request.
  const bool has_times = device_times_forced();
  const int result =
      open_communicator(context, mask, name, key, ranks, rank, kCollApi | kP2pApi | (has_times ? kKernelChannel : 0));
  if (has_times && *context != nullptr) static_cast<Communicator*>(*context)->device = current_device(rank);
  return result;
}
int start5(void* context, void** handle, const Event5* event) {
  *handle = nullptr;
  switch (event->type) {
    case kCollApi:
    case kP2pApi:
      begin(context, handle, event->api.function, event->api.count, event->api.type, true);
      break;
    // NCCL reports these as parents of the channels of kernels.
    case kColl:
      begin_task(context, handle, event->coll.function, event->coll.count, event->coll.type, event->coll.channels);
      break;
    case kP2p:
      begin_task(context, handle, event->p2p.function, event->p2p.count, event->p2p.type, event->p2p.channels);
      break;
    case kKernelChannel:
      if (KernelTask* task = kernel_times().task_of(event->parent); task != nullptr)
        *handle = kernel_times().begin_channel(task, event->kernel.time);
      break;
    default:
      break;
  }
  return kSuccess;
}

int open4(void** context, int* mask, const char* name, std::uint64_t key, int, int ranks, int rank, void*) {
  return open_communicator(context, mask, name, key, ranks, rank, kColl | kP2p);
}
int start4(void* context, void** handle, const Event4* event) {
  *handle = nullptr;
  if (event->type == kColl) begin(context, handle, event->coll.function, event->coll.count, event->coll.type, false);
  if (event->type == kP2p) begin(context, handle, event->p2p.function, event->p2p.count, event->p2p.type, false);
  return kSuccess;
}

int open1(void** context, int* mask) {
  *context = is_needed() ? new (std::nothrow) Communicator : nullptr;
  *mask = *context == nullptr ? 0 : static_cast<int>(kColl | kP2p);
  return kSuccess;
}
int start2(void* context, void** handle, const Event2* event) {
  *handle = nullptr;
  if (event->type == kColl) begin(context, handle, event->coll.function, event->coll.count, event->coll.type, false);
  if (event->type == kP2p) begin(context, handle, event->p2p.function, event->p2p.count, event->p2p.type, false);
  return kSuccess;
}
const char* function_of(std::uint8_t number) noexcept {
  return number < kNumberedFunctions.size() ? kNumberedFunctions[number] : "unknown";
}
const char* type_of(std::uint8_t number) noexcept { return number < kTypes.size() ? kTypes[number].event.data() : ""; }
int start1(void* context, void** handle, const Event1* event) {
  *handle = nullptr;
  if (event->type == kColl)
    begin(context, handle, function_of(event->coll.function), event->coll.count, type_of(event->coll.type), false);
  if (event->type == kP2p)
    begin(context, handle, function_of(event->p2p.function), event->p2p.count, type_of(event->p2p.type), false);
  return kSuccess;
}

}  // namespace
}  // namespace tutti::profiling::nccl::plugin

namespace plugin = tutti::profiling::nccl::plugin;
extern "C" {
__attribute__((visibility("default"))) extern const plugin::Profiler5 ncclProfiler_v7;
__attribute__((visibility("default"))) extern const plugin::Profiler5 ncclProfiler_v6;
__attribute__((visibility("default"))) extern const plugin::Profiler5 ncclProfiler_v5;
__attribute__((visibility("default"))) extern const plugin::Profiler4 ncclProfiler_v4;
__attribute__((visibility("default"))) extern const plugin::Profiler1<plugin::Event2> ncclProfiler_v3;
__attribute__((visibility("default"))) extern const plugin::Profiler1<plugin::Event2> ncclProfiler_v2;
__attribute__((visibility("default"))) extern const plugin::Profiler1<plugin::Event1> ncclProfiler_v1;
}
const plugin::Profiler5 ncclProfiler_v6 = {
    "tutti", plugin::open5, plugin::start5, plugin::stop_event, plugin::record_state, plugin::close_communicator};
const plugin::Profiler5 ncclProfiler_v7 = ncclProfiler_v6;
const plugin::Profiler5 ncclProfiler_v5 = ncclProfiler_v6;
const plugin::Profiler4 ncclProfiler_v4 = {
    "tutti", plugin::open4, plugin::start4, plugin::stop_event, plugin::record_state, plugin::close_communicator};
const plugin::Profiler1<plugin::Event2> ncclProfiler_v3 = {
    "tutti", plugin::open1, plugin::start2, plugin::stop_event, plugin::record_state, plugin::close_communicator};
const plugin::Profiler1<plugin::Event2> ncclProfiler_v2 = ncclProfiler_v3;
const plugin::Profiler1<plugin::Event1> ncclProfiler_v1 = {
    "tutti", plugin::open1, plugin::start1, plugin::stop_event, plugin::record_state, plugin::close_communicator};
