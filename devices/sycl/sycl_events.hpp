#pragma once

#include <memory>
#include <sycl/sycl.hpp>

#include "sycl_call.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::sycl_device {

/// The queue behind a stream.
[[nodiscard]] inline ::sycl::queue& queue_of(const Stream& stream) noexcept {
  return *static_cast<::sycl::queue*>(stream.native());
}

/// An event of the SYCL runtime.
class Event final : public spi::DeviceEvent {
 public:
  /// `submitted_ns` is the observers' time just before the submission: it ties the device's clock to the observers'.
  Event(Device device, std::string_view work, ::sycl::event event, bool has_times, std::uint64_t submitted_ns)
      : DeviceEvent(device, work), event_(std::move(event)), has_times_(has_times), submitted_ns_(submitted_ns) {}
  /// A point in a queue that may be the application's.
  Event(Device device, ::sycl::event event, bool has_times, std::uint64_t submitted_ns)
      : DeviceEvent(device, {}),
        event_(std::move(event)),
        has_times_(has_times),
        is_foreign_(true),
        submitted_ns_(submitted_ns) {}

  [[nodiscard]] const ::sycl::event& native() const noexcept { return event_; }

 private:
  bool do_ready() override;
  void do_wait() override;
  std::optional<Interval> do_interval() override;

  ::sycl::event event_;
  bool has_times_;
  bool is_foreign_ = false;
  std::uint64_t submitted_ns_ = 0;
};

/// Whether the command of the event has ended.
[[nodiscard]] bool is_complete(const ::sycl::event& event);

/// Submits the command group that `body` fills in and wraps its event. `function` is the handler function that `body`
/// calls.
template <typename Body>
[[nodiscard]] std::unique_ptr<spi::DeviceEvent> submit(const Stream& stream, std::string_view work,
                                                       std::string_view function, const Body& body) {
  ::sycl::queue& queue = queue_of(stream);
  const std::uint64_t begin = observer_time_ns();
  ::sycl::event event = call(function, [&] { return queue.submit(body); });
  const bool has_times = queue.has_property<::sycl::property::queue::enable_profiling>();
  return std::make_unique<Event>(stream.device(), work, std::move(event), has_times, begin);
}

/// Makes commands submitted to the queue from now on wait for `event`. The result is complete when the wait is over.
::sycl::event submit_wait(::sycl::queue& queue, const ::sycl::event& event);

/// An event that is reached when all commands submitted to the queue so far have ended.
[[nodiscard]] std::unique_ptr<spi::DeviceEvent> record(const Stream& stream);

}  // namespace tutti::sycl_device
