#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/observer.hpp"

namespace tutti::tools {

/// Settings that place the ranks according to --device: "host", "auto", a module ("sycl"), a device ("sycl:0.1"), or a
/// list of devices that is distributed over the ranks. Starts the modules. Throws Error{config} when there is no such
/// module or device, Error{backend_unavailable} with the reason when the module cannot be used here.
[[nodiscard]] Config place_on(const std::string& device);

/// Records the work of the devices of this process while the object exists.
class DeviceTimes : public Observer {
 public:
  using Observer::on;
  void on(const DeviceInterval& record) noexcept override;
  void on(const Traffic& record) noexcept override;

  /// Number of recorded pieces of work.
  [[nodiscard]] std::uint64_t calls() const;
  /// Time during which any of them was running; overlapping times count once.
  [[nodiscard]] double microseconds() const;
  /// Whether the time includes an operation of a library, measured from when the device's queue reached it until it was
  /// complete; its wait for other ranks is included.
  [[nodiscard]] bool is_span() const noexcept { return is_span_; }
  /// Whether data was copied between host and device.
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
  ObserverHandle handle_ = add_observer(*this);  // last: removed before the records go
};

}  // namespace tutti::tools
