#include "sycl_events.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sycl/backend/opencl.hpp>
#include <thread>

namespace tutti::sycl_device {

namespace {

bool is_complete(const ::sycl::event& event) {
  return call("event::get_info", [&] {
    return event.get_info<::sycl::info::event::command_execution_status>() ==
           ::sycl::info::event_command_status::complete;
  });
}

/// Looks again and again: event::wait() on what stands behind a host task of the application keeps the runtime from
/// taking any submission, from whatever thread, until that task has ended.
void poll_until_complete(const ::sycl::event& event) {
  using namespace std::chrono_literals;
  constexpr int kSpins = 50;
  constexpr auto kLongestPause = 100us;
  auto pause = 5us;
  for (int round = 0; !is_complete(event); ++round) {
    if (round < kSpins) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }
}

}  // namespace

bool Event::do_ready() { return is_complete(event_); }

void Event::do_wait() {
  if (is_foreign_) poll_until_complete(event_);
  call("event::wait_and_throw", [&] { event_.wait_and_throw(); });
}

std::optional<spi::DeviceEvent::Interval> Event::do_interval() {
  if (!has_times_) return std::nullopt;
  namespace profiling = ::sycl::info::event_profiling;
  return call("event::get_profiling_info", [&]() -> std::optional<Interval> {
    const std::uint64_t submitted = event_.get_profiling_info<profiling::command_submit>();
    const std::uint64_t begin = event_.get_profiling_info<profiling::command_start>();
    const std::uint64_t end = event_.get_profiling_info<profiling::command_end>();
    if (begin < submitted || end < begin) return std::nullopt;
    return Interval{submitted_ns_ + (begin - submitted), submitted_ns_ + (end - submitted)};
  });
}

void submit_wait(::sycl::queue& queue, const ::sycl::event& event) {
  call("handler::ext_oneapi_barrier",
       [&] { queue.submit([&](::sycl::handler& handler) { handler.ext_oneapi_barrier({event}); }); });
  // On an out-of-order queue the runtime lets later commands overtake a barrier that waits for certain events as long
  // as it has not reached the device, e.g. behind a host task; a full barrier they do not overtake.
  if (queue.is_in_order()) return;
  call("queue::ext_oneapi_submit_barrier", [&] { queue.ext_oneapi_submit_barrier(); });
}

std::unique_ptr<spi::DeviceEvent> record(const Stream& stream) {
  ::sycl::queue& queue = queue_of(stream);
  const std::uint64_t begin = observer_time_ns();
  ::sycl::event event = call("queue::ext_oneapi_submit_barrier", [&] { return queue.ext_oneapi_submit_barrier(); });
  const bool has_times = queue.has_property<::sycl::property::queue::enable_profiling>();
  return std::make_unique<Event>(stream.device(), std::move(event), has_times, begin);
}

namespace {

/// The functions of OpenCL that SYCL has nothing like: events that the host sets.
struct UserEvents {
  spi::VendorFunction<cl_int (*)(cl_event, cl_int)> set{"opencl", "clSetUserEventStatus"};
  spi::VendorFunction<cl_int (*)(cl_event)> release{"opencl", "clReleaseEvent"};
  cl_event (*create_function)(cl_context, cl_int*) = nullptr;

  static const UserEvents& instance() {
    static const UserEvents functions;
    return functions;
  }
  [[nodiscard]] bool are_there() const noexcept { return create_function != nullptr && set && release; }

 private:
  UserEvents() {
    // The runtime's own: another loader would not know its contexts.
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    create_function = reinterpret_cast<decltype(create_function)>(dlsym(library, "clCreateUserEvent"));
    set.set(reinterpret_cast<cl_int (*)(cl_event, cl_int)>(dlsym(library, "clSetUserEventStatus")));
    release.set(reinterpret_cast<cl_int (*)(cl_event)>(dlsym(library, "clReleaseEvent")));
  }
};

/// A gate that is an event of the device: nothing waits on the host.
class EventGate final : public spi::DeviceGate {
 public:
  explicit EventGate(const ::sycl::context& context) {
    const UserEvents& functions = UserEvents::instance();
    const std::uint64_t begin = observer() == nullptr ? 0 : observer_time_ns();
    cl_int error = CL_SUCCESS;
    event_ = functions.create_function(::sycl::get_native<::sycl::backend::opencl>(context), &error);
    if (Observer* target = observer()) {
      target->on(HostCall{spi::current_operation(), "opencl", "clCreateUserEvent", error, begin, observer_time_ns()});
    }
    if (error != CL_SUCCESS) {
      throw Error(ErrorCode::backend_failure, "clCreateUserEvent failed with " + std::to_string(error), "sycl", error);
    }
    wrapped_ = call("make_event", [&] { return ::sycl::make_event<::sycl::backend::opencl>({event_}, context); });
  }
  ~EventGate() override {
    do_open();
    (void)UserEvents::instance().release(event_);
  }
  [[nodiscard]] const ::sycl::event& event() const noexcept { return wrapped_; }

 private:
  void do_open() noexcept override {
    if (!is_open_.exchange(true)) (void)UserEvents::instance().set(event_, CL_COMPLETE);
  }

  cl_event event_ = nullptr;
  ::sycl::event wrapped_;
  std::atomic<bool> is_open_ = false;
};

/// A gate that is a host task of the queue.
class HostTaskGate final : public spi::DeviceGate {
 public:
  HostTaskGate() : state_(std::make_shared<State>()) {}
  ~HostTaskGate() override { do_open(); }

  /// What the host task runs.
  [[nodiscard]] auto task() const {
    return [state = state_] {
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&] { return state->is_open; });
    };
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;
  };
  void do_open() noexcept override {
    const std::scoped_lock lock(state_->mutex);
    state_->is_open = true;
    state_->changed.notify_all();
  }

  std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<spi::DeviceGate> hold_by_host_task(::sycl::queue& queue) {
  auto gate = std::make_unique<HostTaskGate>();
  // After what is there already: a task that waits occupies a thread that earlier ones may need.
  const ::sycl::event before =
      call("queue::ext_oneapi_submit_barrier", [&] { return queue.ext_oneapi_submit_barrier(); });
  const ::sycl::event held = call("handler::host_task", [&] {
    return queue.submit([&](::sycl::handler& handler) {
      handler.depends_on(before);
      handler.host_task(gate->task());
    });
  });
  if (!queue.is_in_order()) submit_wait(queue, held);
  return gate;
}

std::unique_ptr<spi::DeviceGate> hold(::sycl::queue& queue) {
  if (queue.get_backend() != ::sycl::backend::opencl || !UserEvents::instance().are_there()) {
    return hold_by_host_task(queue);
  }
  auto gate = std::make_unique<EventGate>(queue.get_context());
  submit_wait(queue, gate->event());
  return gate;
}

}  // namespace tutti::sycl_device
