#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tutti/config.hpp"
#include "tutti/observer.hpp"

namespace tutti::tools {

/// The settings under which ranks are placed on what --device names: "host", "auto", a module ("sycl"), a device
/// ("sycl:0.1"), or a list of devices that are dealt out. Starts the modules. Throws Error{config} when there is no
/// such module or device, Error{backend_unavailable} with the reason when the module cannot be used here.
[[nodiscard]] Config place_on(const std::string& device);

/// What the devices did while it is installed.
class DeviceTimes : public Observer {
 public:
  DeviceTimes() : previous_(set_observer(this)) {}
  ~DeviceTimes() override { set_observer(previous_); }
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  using Observer::on;
  void on(const DeviceInterval& record) noexcept override;
  void on(const Traffic& record) noexcept override;

  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] double microseconds() const noexcept { return static_cast<double>(nanoseconds_.load()) * 1e-3; }
  /// Whether anything was copied between host and device.
  [[nodiscard]] bool was_staged() const noexcept { return was_staged_; }

 private:
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> nanoseconds_ = 0;
  std::atomic<bool> was_staged_ = false;
  Observer* previous_;
};

}  // namespace tutti::tools
