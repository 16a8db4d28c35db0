#include "call_recorder.hpp"

#include "own_callers.hpp"
#include "sources/common/correlation.hpp"
#include "sources/common/kernel_name.hpp"

namespace tutti::profiling::ze {

namespace {

/// The argument with this number; a place that may be changed before the call.
template <typename Type>
Type& argument(void** arguments, int number) noexcept {
  return *static_cast<Type*>(arguments[number]);
}

MemoryPlace place_of_letter(char letter) noexcept {
  return letter == 'D' ? MemoryPlace::device : letter == 'S' ? MemoryPlace::shared : MemoryPlace::host;
}

/// States of a call beside the time of its begin.
constexpr std::uintptr_t kNotRecorded = 0;

/// The block that a call of this thread frees; description that replaces that of a call of this thread.
constinit thread_local MemoryBlock released = {};
constinit thread_local ze_event_pool_desc_t forced_pool = {};
/// The event that the source lends to a call of this thread; null: none.
constinit thread_local ze_event_handle_t lent = nullptr;

/// Whether the memory in use on the devices is looked at after calls of this role, from time to time.
bool has_effect_on_memory(Role role) noexcept {
  return role == Role::allocation || role == Role::release || role == Role::execute || role == Role::wait ||
         role == Role::queue_wait || role == Role::event_wait;
}

/// A failed call; "not ready" is an answer.
bool is_error(ze_result_t result) noexcept { return result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY; }

}  // namespace

CallRecorder::CallRecorder(const Loader& loader) noexcept
    : source_(add_source("BACKEND_ZE", 1)),
      records_queries_(tracing_mode() == TracingMode::full),
      forces_times_(device_times_forced()),
      loader_(loader),
      devices_(loader_),
      device_memory_(loader_, devices_, source_),
      own_events_(loader_),
      events_(loader_, devices_, own_events_, source_) {
  for (std::size_t i = 0; i < kFunctions.size(); ++i) functions_[i].name = intern(kFunctions[i].name);
}

void CallRecorder::begin(std::size_t number, void** arguments, void*& state) noexcept {
  const Function& function = kFunctions[number];
  prepare(function, arguments);
  std::uintptr_t begin_ns = kNotRecorded;
  // Tutti's observer reports the calls of tutti.
  if (is_recording() && !is_called_by_tutti()) {
    if (forces_times_ && function.event >= 0) lend_event(function, arguments);
    begin_ns = now_ns();
  }
  state = reinterpret_cast<void*>(begin_ns);
}

/// Looks at objects for the last time before the call changes them.
void CallRecorder::prepare(const Function& function, void** arguments) noexcept {
  switch (function.role) {
    case Role::release:
      // Forgotten before the call: afterwards, the address may belong to somebody else already.
      released = memory_.remove(argument<void*>(arguments, function.from)).value_or(MemoryBlock{});
      break;
    case Role::event_end:
      events_.forget(argument<ze_event_handle_t>(arguments, function.object));
      break;
    case Role::pool_create:
      if (forces_times_) force_timestamps(arguments);
      break;
    case Role::execute:
      if (forces_times_) collect_listed(arguments, function);
      break;
    case Role::list_reset:
    case Role::list_destroy:
      // The commands of the list have ended, and so have those of immediate ones.
      if (forces_times_) events_.collect_all();
      break;
    case Role::init:
      look_for_own_callers();
      break;
    case Role::context_end:
      events_.collect_all();
      device_memory_.sample();
      own_events_.forget(argument<ze_context_handle_t>(arguments, function.object));
      break;
    default:
      break;
  }
}

void CallRecorder::end(std::size_t number, void** arguments, ze_result_t result, void* state) noexcept {
  const std::uint64_t end_ns = now_ns();
  const Function& function = kFunctions[number];
  const auto begin_ns = reinterpret_cast<std::uintptr_t>(state);
  const bool is_recorded = begin_ns != kNotRecorded && is_recording();
  const std::uint64_t correlation = is_recorded && function.event >= 0 ? next_correlation(source_) : 0;
  if (is_recorded && (records_queries_ || !is_query(function))) {
    record({.kind = Kind::host,
            .source = source_,
            .name = functions_[number].name,
            .context = current_context(),
            .error = is_error(result) ? static_cast<std::int32_t>(result) : 0,
            .begin_ns = begin_ns,
            .end_ns = end_ns,
            .correlation = correlation});
  }
  if (has_effect_on_memory(function.role)) device_memory_.sample_sometimes(end_ns);
  if (result == ZE_RESULT_SUCCESS) {
    note_success({number, function, arguments, begin_ns, correlation, is_recorded});
  } else if (function.role == Role::release && released.bytes != 0) {
    memory_.add(argument<void*>(arguments, function.from), released);
  }
  // A command that was not accepted will not signal it.
  if (lent != nullptr && result != ZE_RESULT_SUCCESS) own_events_.give_back(lent);
  lent = nullptr;
}

/// Gives an event of the source to a command that has none.
void CallRecorder::lend_event(const Function& function, void** arguments) noexcept {
  auto& event = argument<ze_event_handle_t>(arguments, function.event);
  if (event != nullptr) return;
  const ze_context_handle_t context = lists_.context_of(argument<ze_command_list_handle_t>(arguments, function.object));
  if (context == nullptr) return;
  lent = own_events_.take(context, false);
  if (lent == nullptr) {
    events_.collect_all();
    lent = own_events_.take(context, true);
  }
  event = lent;
}

/// Before lists are executed again: their events must be ready for it.
void CallRecorder::collect_listed(void** arguments, const Function& function) noexcept {
  const auto count = argument<std::uint32_t>(arguments, function.detail);
  const auto* lists = argument<const ze_command_list_handle_t*>(arguments, 2);
  for (std::uint32_t i = 0; lists != nullptr && i < count; ++i) {
    for (const ListedCommand& command : lists_.commands_of(lists[i])) {
      if (command.work.owner == EventOwner::source_listed) events_.collect(command.event);
    }
  }
}

/// After the commands of a list were taken away: their events are free again.
void CallRecorder::take_from_list(ze_command_list_handle_t list) noexcept {
  if (!forces_times_) return;
  for (const ListedCommand& command : lists_.commands_of(list)) {
    if (command.work.owner != EventOwner::source_listed) continue;
    events_.forget(command.event);
    own_events_.give_back(command.event);
  }
}

void CallRecorder::force_timestamps(void** arguments) noexcept {
  auto& description = argument<const ze_event_pool_desc_t*>(arguments, 1);
  if (description == nullptr || (description->flags & ZE_EVENT_POOL_FLAG_IPC) != 0) return;
  forced_pool = *description;
  forced_pool.flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  description = &forced_pool;
}

void CallRecorder::note_success(const Success& call) noexcept {
  const Function& function = call.function;
  switch (function.role) {
    case Role::allocation:
      return note_allocation(call);
    case Role::release:
      return note_release(call);
    case Role::touch:
      return note_touch(call);
    case Role::copy:
    case Role::fill:
    case Role::region:
    case Role::kernel:
    case Role::work:
      return note_command(call);
    case Role::execute:
      return note_execution(call);
    case Role::list_create:
    case Role::list_create_immediate:
    case Role::pool_create:
    case Role::event_create:
    case Role::kernel_create:
      return note_creation(call);
    case Role::list_reset:
      take_from_list(argument<ze_command_list_handle_t>(call.arguments, function.object));
      return lists_.reset(argument<ze_command_list_handle_t>(call.arguments, function.object));
    case Role::list_destroy:
      take_from_list(argument<ze_command_list_handle_t>(call.arguments, function.object));
      return lists_.destroy(argument<ze_command_list_handle_t>(call.arguments, function.object));
    case Role::event_query:
      return events_.collect(argument<ze_event_handle_t>(call.arguments, function.object));
    case Role::event_wait:
      // Nobody waits for the events that the source has lent.
      if (forces_times_) return events_.collect_all();
      return events_.collect(argument<ze_event_handle_t>(call.arguments, function.object));
    case Role::queue_wait:
      return events_.collect_queue(argument<ze_command_queue_handle_t>(call.arguments, function.object));
    case Role::wait:
      return events_.collect_all();
    case Role::plain:
    case Role::query:
    case Role::init:
    case Role::context_end:
    case Role::event_end:
      return;
  }
}

void CallRecorder::note_allocation(const Success& call) noexcept {
  const Function& function = call.function;
  void** place = argument<void**>(call.arguments, function.to);
  if (place == nullptr || *place == nullptr) return;
  DeviceId device = 0;
  if (function.device >= 0) device = devices_.id_of(argument<ze_device_handle_t>(call.arguments, function.device));
  const MemoryBlock block{argument<std::size_t>(call.arguments, function.bytes), device,
                          place_of_letter(function.place)};
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
  if (!call.is_recorded || released.bytes == 0) return;
  record({.kind = Kind::release,
          .source = source_,
          .name = memory_name(released.place),
          .context = current_context(),
          .device = released.device,
          .begin_ns = call.begin_ns,
          .end_ns = call.begin_ns,
          .bytes = released.bytes});
}

void CallRecorder::note_touch(const Success& call) noexcept {
  const Function& function = call.function;
  ListedCommand command{.traffic = functions_[call.number].name,
                        .bytes = argument<std::size_t>(call.arguments, function.bytes)};
  const bool is_listed = function.device < 0;  // a prefetch
  if (is_listed && !lists_.append(argument<ze_command_list_handle_t>(call.arguments, function.object), command)) return;
  if (call.is_recorded) carry_out(command, call.begin_ns);
}

void CallRecorder::note_command(const Success& call) noexcept {
  const Function& function = call.function;
  const auto list = argument<ze_command_list_handle_t>(call.arguments, function.object);
  ListedCommand command{.work = {.device = lists_.device_of(list),
                                 .name = functions_[call.number].name,
                                 .context = current_context(),
                                 .correlation = call.correlation}};
  if (function.role == Role::kernel) {
    const auto name = kernels_.get(argument<ze_kernel_handle_t>(call.arguments, function.detail));
    if (name) command.work.name = *name;
  } else if (function.to >= 0) {
    const auto place = [&](int number) { return memory_.place_of(argument<const void*>(call.arguments, number)); };
    command.traffic = functions_[call.number].traffic.copy(function.name, place(function.from), place(function.to));
    command.work.name = command.traffic;
    if (function.role == Role::region) {
      const auto* region = argument<const ze_copy_region_t*>(call.arguments, function.detail);
      if (region != nullptr)
        command.bytes = std::uint64_t{region->width} * region->height * (region->depth == 0 ? 1 : region->depth);
    } else {
      command.bytes = argument<std::size_t>(call.arguments, function.bytes);
    }
  }
  const auto event = argument<ze_event_handle_t>(call.arguments, function.event);
  if (event != nullptr && event == lent) {
    command.event = event;
    command.work.owner = lists_.is_immediate(list) ? EventOwner::source_once : EventOwner::source_listed;
  } else if (event != nullptr && timestamp_events_.get(event).value_or(false)) {
    command.event = event;
  }
  // Work of tutti itself is in the records of its observer, also when a list is executed later.
  if ((call.is_recorded || command.work.owner != EventOwner::program) && lists_.append(list, command))
    carry_out(command, call.begin_ns);
}

void CallRecorder::note_execution(const Success& call) noexcept {
  if (!call.is_recorded) return;
  const auto count = argument<std::uint32_t>(call.arguments, call.function.detail);
  const auto* lists = argument<const ze_command_list_handle_t*>(call.arguments, 2);
  for (std::uint32_t i = 0; lists != nullptr && i < count; ++i) {
    for (ListedCommand& command : lists_.commands_of(lists[i])) {
      command.work.queue = argument<ze_command_queue_handle_t>(call.arguments, call.function.object);
      carry_out(command, call.begin_ns);
    }
  }
}

void CallRecorder::carry_out(const ListedCommand& command, std::uint64_t begin_ns) noexcept {
  if (command.traffic != 0) {
    record({.kind = Kind::traffic,
            .source = source_,
            .name = command.traffic,
            .context = current_context(),
            .begin_ns = begin_ns,
            .end_ns = begin_ns,
            .bytes = command.bytes,
            .correlation = command.work.correlation});
  }
  if (command.event != nullptr) events_.expect(command.event, command.work);
}

void CallRecorder::note_creation(const Success& call) noexcept {
  const Function& function = call.function;
  const auto* place = argument<void* const*>(call.arguments, function.object);
  if (place == nullptr) return;
  void* const handle = *place;
  switch (function.role) {
    case Role::pool_create: {
      const auto* description = argument<const ze_event_pool_desc_t*>(call.arguments, function.detail);
      const bool has_times = description != nullptr && (description->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
      return timestamp_pools_.set(handle, has_times);
    }
    case Role::event_create: {
      const bool has_times = timestamp_pools_.get(argument<void*>(call.arguments, function.detail)).value_or(false);
      return timestamp_events_.set(handle, has_times);
    }
    case Role::kernel_create: {
      const auto* description = argument<const ze_kernel_desc_t*>(call.arguments, function.detail);
      return kernels_.set(handle, kernel_name(description == nullptr ? nullptr : description->pKernelName));
    }
    default:
      return lists_.create(
          static_cast<ze_command_list_handle_t>(handle), argument<ze_context_handle_t>(call.arguments, 0),
          argument<ze_device_handle_t>(call.arguments, function.device), function.role == Role::list_create_immediate);
  }
}

}  // namespace tutti::profiling::ze
