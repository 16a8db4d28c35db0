#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/observer.hpp"

namespace tutti::tools {

/// The settings under which ranks are placed on what --device names: "host", "auto", a module ("sycl"), a device
/// ("sycl:0.1"), or a list of devices that are dealt out. Starts the modules. Throws Error{config} when there is no
/// such module or device, Error{backend_unavailable} with the reason when the module cannot be used here.
[[nodiscard]] Config place_on(const std::string& device);

/// What the devices of this process did while it is installed.
class DeviceTimes : public Observer {
 public:
  DeviceTimes() : previous_(set_observer(this)) {}
  ~DeviceTimes() override { set_observer(previous_); }
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  using Observer::on;
  void on(const DeviceInterval& record) noexcept override;
  void on(const Traffic& record) noexcept override;

  /// Pieces of work.
  [[nodiscard]] std::uint64_t calls() const;
  /// How long any of them was under way: those that overlap count once.
  [[nodiscard]] double microseconds() const;
  /// Whether the time is that of operations of a library, from when the device's queue came to one until it was
  /// through: that it waited for other ranks is part of it.
  [[nodiscard]] bool is_span() const noexcept { return is_span_; }
  /// Whether anything was copied between host and device.
  [[nodiscard]] bool was_staged() const noexcept { return was_staged_; }

 private:
  struct Interval {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };
  mutable std::mutex mutex_;
  std::vector<Interval> intervals_;
  std::atomic<bool> is_span_ = false;
  std::atomic<bool> was_staged_ = false;
  Observer* previous_;
};

}  // namespace tutti::tools
