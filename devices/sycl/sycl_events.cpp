#include "sycl_events.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tutti::sycl_device {

bool is_complete(const ::sycl::event& event) {
  return call("event::get_info", [&] {
    return event.get_info<::sycl::info::event::command_execution_status>() ==
           ::sycl::info::event_command_status::complete;
  });
}

namespace {

/// Polls instead of event::wait(): while wait() waits for a command behind a host task of the application, the runtime
/// takes no submission from any thread until that task has ended.
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

::sycl::event submit_wait(::sycl::queue& queue, const ::sycl::event& event) {
  ::sycl::event passed = call("handler::ext_oneapi_barrier", [&] {
    return queue.submit([&](::sycl::handler& handler) { handler.ext_oneapi_barrier({event}); });
  });
  // On an out-of-order queue later commands overtake a barrier that waits for certain events as long as it has not
  // reached the device, e.g. behind a host task. They do not overtake a full barrier.
  if (queue.is_in_order()) return passed;
  call("queue::ext_oneapi_submit_barrier", [&] { queue.ext_oneapi_submit_barrier(); });
  return passed;
}

std::unique_ptr<spi::DeviceEvent> record(const Stream& stream) {
  ::sycl::queue& queue = queue_of(stream);
  const std::uint64_t begin = observer_time_ns();
  ::sycl::event event = call("queue::ext_oneapi_submit_barrier", [&] { return queue.ext_oneapi_submit_barrier(); });
  const bool has_times = queue.has_property<::sycl::property::queue::enable_profiling>();
  return std::make_unique<Event>(stream.device(), std::move(event), has_times, begin);
}

}  // namespace tutti::sycl_device
