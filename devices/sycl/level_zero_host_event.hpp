#pragma once

#include <level_zero/ze_api.h>

namespace tutti::sycl_device {

/// An event of Level Zero that the host sets; SYCL has no such events.
class HostEvent {
 public:
  /// Whether a queue of the device can wait for such an event while other queues go on: the SYCL runtime has loaded a
  /// Level Zero loader with all functions needed, and the device has an engine for copies. Without that engine, copies
  /// on another queue would queue behind the waiting command.
  [[nodiscard]] static bool is_possible(ze_device_handle_t device);

  /// Makes an event that is not set. Commands of the device can wait for it. Throws Error{backend_failure}.
  HostEvent(ze_context_handle_t context, ze_device_handle_t device);
  /// No command may wait for it any longer.
  ~HostEvent();
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;

  [[nodiscard]] ze_event_handle_t handle() const noexcept { return event_; }
  void set() noexcept;
  /// No command may wait for it any longer. Throws Error{backend_failure}.
  void unset();

 private:
  ze_event_pool_handle_t pool_ = nullptr;
  ze_event_handle_t event_ = nullptr;
};

}  // namespace tutti::sycl_device
