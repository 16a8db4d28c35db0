#include "sycl_gates.hpp"

#include <dlfcn.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <sycl/backend/opencl.hpp>
#include <utility>
#include <vector>

#include "sycl_call.hpp"
#include "sycl_events.hpp"
#ifdef TUTTI_SYCL_LEVEL_ZERO
#include <sycl/ext/oneapi/backend/level_zero.hpp>

#include "level_zero_host_event.hpp"
#endif

namespace tutti::sycl_device {

namespace {

/// Functions of OpenCL for events that the host sets; SYCL has no such events.
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
    // Only the loader that the SYCL runtime has loaded: another one would not know its contexts.
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    create_function = reinterpret_cast<decltype(create_function)>(dlsym(library, "clCreateUserEvent"));
    set.set(reinterpret_cast<cl_int (*)(cl_event, cl_int)>(dlsym(library, "clSetUserEventStatus")));
    release.set(reinterpret_cast<cl_int (*)(cl_event)>(dlsym(library, "clReleaseEvent")));
  }
};

/// A gate that is an event of OpenCL: no host thread waits.
class OpenClGate final : public spi::DeviceGate {
 public:
  explicit OpenClGate(const ::sycl::context& context) {
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
  ~OpenClGate() override {
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

#ifdef TUTTI_SYCL_LEVEL_ZERO

constexpr ::sycl::backend kLevelZero = ::sycl::backend::ext_oneapi_level_zero;

/// An event of Level Zero for a queue, with the context that it must not outlive.
class LevelZeroEvent {
 public:
  explicit LevelZeroEvent(const ::sycl::queue& queue)
      : context_(queue.get_context()),
        device_(queue.get_device()),
        native_(call("get_native", [&] { return ::sycl::get_native<kLevelZero>(context_); }),
                call("get_native", [&] { return ::sycl::get_native<kLevelZero>(device_); })) {}

  [[nodiscard]] bool is_for(const ::sycl::queue& queue) const {
    return context_ == queue.get_context() && device_ == queue.get_device();
  }
  /// Makes commands submitted to the queue from now on wait for the event.
  void hold(::sycl::queue& queue) {
    // A new SYCL event each time: the runtime remembers that an event was reached.
    awaited_ = call("make_event", [&] {
      return ::sycl::make_event<kLevelZero>({native_.handle(), ::sycl::ext::oneapi::level_zero::ownership::keep},
                                            context_);
    });
    passed_ = submit_wait(queue, awaited_);
  }
  void set() noexcept { native_.set(); }
  void unset() { native_.unset(); }
  /// Whether no command waits for the event any longer.
  [[nodiscard]] bool is_passed() const { return is_complete(passed_); }

 private:
  ::sycl::context context_;
  ::sycl::device device_;
  HostEvent native_;
  ::sycl::event awaited_;
  ::sycl::event passed_;
};

/// Events whose gates are gone. They must not be reset or destroyed before the commands that wait for them have ended;
/// after that they are reused.
class LevelZeroEvents {
 public:
  /// Never destroyed: at the end of the process the SYCL runtime may be gone first.
  static LevelZeroEvents& instance() {
    static auto* const events = new LevelZeroEvents();
    return *events;
  }

  [[nodiscard]] std::unique_ptr<LevelZeroEvent> take(const ::sycl::queue& queue) {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<LevelZeroEvent> found;
    for (std::size_t i = 0; i < returned_.size();) {
      const bool is_wanted = returned_[i]->is_for(queue);
      if (!returned_[i]->is_passed() || (is_wanted && found != nullptr)) {
        ++i;
        continue;
      }
      // Events of other queues are destroyed: they would keep contexts alive that the application no longer uses.
      auto event = std::exchange(returned_[i], std::move(returned_.back()));
      returned_.pop_back();
      if (is_wanted) found = std::move(event);
    }
    if (found == nullptr) return std::make_unique<LevelZeroEvent>(queue);
    found->unset();
    return found;
  }
  void give_back(std::unique_ptr<LevelZeroEvent> event) noexcept {
    const std::scoped_lock lock(mutex_);
    returned_.push_back(std::move(event));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<LevelZeroEvent>> returned_;
};

/// A gate that is an event of Level Zero: no host thread waits.
class LevelZeroGate final : public spi::DeviceGate {
 public:
  explicit LevelZeroGate(::sycl::queue& queue) : event_(LevelZeroEvents::instance().take(queue)) {
    try {
      event_->hold(queue);
    } catch (...) {
      event_->set();
      (void)event_.release();  // leaked, since a command may be waiting for it
      throw;
    }
  }
  ~LevelZeroGate() override {
    do_open();
    LevelZeroEvents::instance().give_back(std::move(event_));
  }

 private:
  void do_open() noexcept override {
    if (!is_open_.exchange(true)) event_->set();
  }

  std::unique_ptr<LevelZeroEvent> event_;
  std::atomic<bool> is_open_ = false;
};

#endif

/// A gate that is a host task of the queue.
class HostTaskGate final : public spi::DeviceGate {
 public:
  HostTaskGate() : state_(std::make_shared<State>()) {}
  ~HostTaskGate() override { do_open(); }

  /// The function of the host task.
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
  // The task starts only after all earlier commands: a waiting task occupies a thread that earlier tasks may need.
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
  const ::sycl::backend backend = queue.get_backend();
  if (backend == ::sycl::backend::opencl && UserEvents::instance().are_there()) {
    auto gate = std::make_unique<OpenClGate>(queue.get_context());
    submit_wait(queue, gate->event());
    return gate;
  }
#ifdef TUTTI_SYCL_LEVEL_ZERO
  if (backend == kLevelZero && HostEvent::is_possible(::sycl::get_native<kLevelZero>(queue.get_device()))) {
    return std::make_unique<LevelZeroGate>(queue);
  }
#endif
  return hold_by_host_task(queue);
}

}  // namespace tutti::sycl_device
