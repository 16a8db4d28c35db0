#pragma once

#include <level_zero/ze_api.h>

namespace tutti::sycl_device {

/// An event of Level Zero that the host sets, which SYCL has nothing like.
class HostEvent {
 public:
  /// Whether a queue of the device can wait for one while others go on: the SYCL runtime has brought a Level Zero
  /// loader with all that this takes, and the device has an engine for copies. Where it has not, copies on another
  /// queue would stand behind the command that waits.
  [[nodiscard]] static bool is_possible(ze_device_handle_t device);

  /// Unset. Commands of the device wait for it as for any other event. Throws Error{backend_failure}.
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
