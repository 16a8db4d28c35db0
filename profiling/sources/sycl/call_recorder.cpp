#include "call_recorder.hpp"

#include <new>
#include <string_view>

#include "runtime_functions.hpp"
#include "sources/common/correlation.hpp"
#include "sources/common/kernel_name.hpp"

namespace tutti::profiling {

namespace {

struct RuntimeCalls;  // the open calls of this source
using Calls = OpenCalls<RuntimeCalls>;

/// The argument with this number; a place in the caller's stack that may be changed before the call.
template <typename Type>
Type& argument(void** arguments, int number) noexcept {
  return *static_cast<Type*>(arguments[number]);
}

MemoryPlace place_of_letter(char letter) noexcept {
  return letter == 'D' ? MemoryPlace::device : letter == 'S' ? MemoryPlace::shared : MemoryPlace::host;
}

/// Whether the memory in use on the devices is looked at after calls of this role, from time to time.
bool has_effect_on_memory(Role role) noexcept {
  return role == Role::allocation || role == Role::release || role == Role::wait || role == Role::event_wait;
}

/// Properties and event that replace those of a call of this thread while it runs.
constinit thread_local ur::QueueProperties forced_properties = {};
constinit thread_local ur::Event forced_event = nullptr;

}  // namespace

CallRecorder::CallRecorder(unsigned version, bool force_times) noexcept
    : source_(add_source("BACKEND_UR", 6)),
      records_queries_(tracing_mode() == TracingMode::full),
      forces_times_(force_times),
      version_(version),
      device_memory_(devices_, source_),
      work_(devices_, source_) {}

CallRecorder::Function* CallRecorder::function_of(const xpti::FunctionWithArguments& call) noexcept {
  if (call.function_id >= functions_.size()) return nullptr;
  auto& slot = functions_[call.function_id];
  // Acquire and release: the description was written before its address.
  if (Function* known = slot.load(std::memory_order_acquire)) [[likely]]
    return known;
  auto* made = new (std::nothrow) Function;
  if (made == nullptr) return nullptr;
  made->layout = find_layout(call.function_name, version_);
  made->name = intern(call.function_name);
  made->is_recorded = records_queries_ || !is_query(call.function_name);
  Function* first = nullptr;
  if (slot.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return made;
  delete made;
  return first;
}

void CallRecorder::begin(const xpti::FunctionWithArguments& call, std::uint64_t instance) noexcept {
  const Function* function = function_of(call);
  if (function == nullptr) return;
  const FunctionLayout& layout = function->layout;
  auto** arguments = static_cast<void**>(call.arguments);
  OpenCall& open = Calls::push(instance);
  switch (layout.role) {
    case Role::release:
      // Forgotten before the call: afterwards, the address may belong to somebody else already.
      if (const auto block = memory_.remove(argument<void*>(arguments, layout.from))) open.released = *block;
      break;
    case Role::event_release:
      work_.release(argument<ur::Event>(arguments, 0));
      break;
    case Role::queue_release:
      work_.collect();
      break;
    case Role::shutdown:
      work_.finish();
      device_memory_.sample();
      break;
    case Role::queue_creation:
      if (forces_times_) force_queue_times(arguments);
      break;
    default:
      if (forces_times_ && layout.event >= 0) force_event(layout, arguments);
      break;
  }
  if (is_recording()) open.begin_ns = now_ns();
}

void CallRecorder::end(const xpti::FunctionWithArguments& call, std::uint64_t instance) noexcept {
  const std::uint64_t end_ns = now_ns();
  Function* function = function_of(call);
  if (function == nullptr) return;
  const OpenCall open = Calls::pop(instance);
  const ur::Result result = call.result == nullptr ? ur::kSuccess : *static_cast<const ur::Result*>(call.result);
  auto** arguments = static_cast<void**>(call.arguments);
  const bool is_recorded = open.begin_ns != 0 && is_recording();
  const bool starts_work = function->layout.event >= 0;
  const std::uint64_t correlation = is_recorded && starts_work ? next_correlation(source_) : 0;
  if (is_recorded && function->is_recorded) {
    record({.kind = Kind::host,
            .source = source_,
            .name = function->name,
            .context = current_context(),
            .error = result,
            .begin_ns = open.begin_ns,
            .end_ns = end_ns,
            .correlation = correlation});
  }
  if (has_effect_on_memory(function->layout.role)) device_memory_.sample_sometimes(end_ns);
  if (result == ur::kSuccess) {
    note_success({*function, arguments, open.begin_ns, correlation, open.released, is_recorded});
  } else if (function->layout.role == Role::release && open.released.bytes != 0) {
    memory_.add(argument<void*>(arguments, function->layout.from), open.released);
  }
}

void CallRecorder::force_queue_times(void** arguments) noexcept {
  auto& properties = argument<const ur::QueueProperties*>(arguments, 2);
  forced_properties = properties != nullptr ? *properties : ur::QueueProperties{ur::kQueuePropertiesType, nullptr, 0};
  forced_properties.flags |= ur::kQueueProfilingFlag;
  properties = &forced_properties;
}

void CallRecorder::force_event(const FunctionLayout& layout, void** arguments) noexcept {
  const auto queue = queues_.get(argument<ur::Queue>(arguments, layout.queue));
  auto& place = argument<ur::Event*>(arguments, layout.event);
  if (!queue || !queue->tells_times || place != nullptr || !runtime_functions().tell_times()) return;
  forced_event = nullptr;
  place = &forced_event;
}

void CallRecorder::note_success(const Success& call) noexcept {
  switch (call.function.layout.role) {
    case Role::allocation:
      return note_allocation(call);
    case Role::release:
      return note_release(call);
    case Role::copy:
    case Role::fill:
    case Role::prefetch:
      return note_traffic(call);
    case Role::launch:
      return note_launch(call);
    case Role::queue_creation:
      return note_queue(call);
    case Role::kernel_creation:
      return kernels_.set(*argument<ur::Kernel*>(call.arguments, call.function.layout.kernel),
                          kernel_name(argument<const char*>(call.arguments, call.function.layout.from)));
    case Role::device_partition: {
      const auto* devices = argument<const ur::Device*>(call.arguments, 3);
      if (devices != nullptr)
        devices_.add_sub_devices(argument<ur::Device>(call.arguments, 0), devices,
                                 argument<std::uint32_t>(call.arguments, 2));
      return;
    }
    case Role::event_wait:
      return work_.complete(argument<const ur::Event*>(call.arguments, 1), argument<std::uint32_t>(call.arguments, 0));
    case Role::wait:
      return work_.collect();
    case Role::plain:
    case Role::event_release:
    case Role::queue_release:
    case Role::shutdown:
      return;
  }
}

void CallRecorder::note_allocation(const Success& call) noexcept {
  const FunctionLayout& layout = call.function.layout;
  void** place = argument<void**>(call.arguments, layout.to);
  if (place == nullptr || *place == nullptr) return;
  ur::Device device = nullptr;
  if (layout.device >= 0) device = argument<ur::Device>(call.arguments, layout.device);
  if (layout.queue >= 0 && layout.place != 'H') {
    if (const auto queue = queues_.get(argument<ur::Queue>(call.arguments, layout.queue))) device = queue->device;
  }
  const MemoryBlock block{argument<std::size_t>(call.arguments, layout.bytes), devices_.id_of(device),
                          place_of_letter(layout.place)};
  memory_.add(*place, block);
  if (!call.is_recorded) return;
  record({.kind = Kind::allocation,
          .source = source_,
          .name = memory_name(block.place),
          .context = current_context(),
          .device = block.device,
          .begin_ns = call.begin_ns,
          .end_ns = call.begin_ns,
          .bytes = block.bytes});
}

void CallRecorder::note_release(const Success& call) noexcept {
  if (!call.is_recorded || call.released.bytes == 0) return;
  record({.kind = Kind::release,
          .source = source_,
          .name = memory_name(call.released.place),
          .context = current_context(),
          .device = call.released.device,
          .begin_ns = call.begin_ns,
          .end_ns = call.begin_ns,
          .bytes = call.released.bytes});
}

void CallRecorder::note_traffic(const Success& call) noexcept {
  const FunctionLayout& layout = call.function.layout;
  // Buffers, unlike USM, are memory of the device.
  const auto place = [&](int number) {
    return number < 0 ? MemoryPlace::device : memory_.place_of(argument<const void*>(call.arguments, number));
  };
  TrafficNames& names = call.function.traffic;
  const NameId name = layout.role == Role::copy ? names.copy(layout.name, place(layout.from), place(layout.to))
                                                : names.touch(layout.name, place(layout.to));
  if (call.is_recorded) {
    std::uint64_t bytes = argument<std::size_t>(call.arguments, layout.bytes);
    if (layout.rows >= 0) bytes *= argument<std::size_t>(call.arguments, layout.rows);
    record({.kind = Kind::traffic,
            .source = source_,
            .name = name,
            .context = current_context(),
            .begin_ns = call.begin_ns,
            .end_ns = call.begin_ns,
            .bytes = bytes,
            .correlation = call.correlation});
  }
  note_device_work(call, name);
}

void CallRecorder::note_launch(const Success& call) noexcept {
  const auto name = kernels_.get(argument<ur::Kernel>(call.arguments, call.function.layout.kernel));
  note_device_work(call, name ? *name : call.function.name);
}

void CallRecorder::note_device_work(const Success& call, NameId name) noexcept {
  const FunctionLayout& layout = call.function.layout;
  if (layout.event < 0) return;
  const ur::Event* event = argument<ur::Event*>(call.arguments, layout.event);
  if (event == nullptr || *event == nullptr) return;
  const bool is_ours = event == &forced_event;
  const auto queue = queues_.get(argument<ur::Queue>(call.arguments, layout.queue));
  const auto& functions = runtime_functions();
  if (!call.is_recorded || !queue || !queue->tells_times || !functions.tell_times()) {
    if (is_ours) {
      const OwnCall own;
      functions.event_release(*event);
    }
    return;
  }
  work_.expect(*event, {queue->device, name, current_context(), call.correlation}, is_ours);
}

void CallRecorder::note_queue(const Success& call) noexcept {
  const FunctionLayout& layout = call.function.layout;
  const auto* properties = argument<const ur::QueueProperties*>(call.arguments, 2);
  const auto* queue = argument<const ur::Queue*>(call.arguments, layout.queue);
  if (queue == nullptr) return;
  const bool tells_times = properties != nullptr && (properties->flags & ur::kQueueProfilingFlag) != 0;
  if (!tells_times) {
    add_problem(
        "device times of SYCL queues without the property enable_profiling are not recorded; TUTTI_PROF_DEVICE_TIMES=1 "
        "turns it on for all queues");
  } else if (!runtime_functions().tell_times()) {
    add_problem(
        "device times of SYCL queues are not recorded: this SYCL library is stripped, so that the source does not find "
        "the functions that tell them");
  }
  const auto device = argument<ur::Device>(call.arguments, layout.device);
  queues_.set(*queue, {device, tells_times});
  device_memory_.add(device);
}

}  // namespace tutti::profiling
