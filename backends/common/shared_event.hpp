#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "tutti/spi/device.hpp"

namespace tutti::common {

/// An event that a communicator and a pending operation use, perhaps from different threads.
class SharedEvent {
 public:
  explicit SharedEvent(std::unique_ptr<spi::DeviceEvent> event) noexcept : event_(std::move(event)) {}

  /// Whether the event has been reached. Throws the error of the work before it, if any.
  [[nodiscard]] bool reached() {
    const std::scoped_lock lock(mutex_);
    if (!event_->ready()) return false;
    event_->wait();
    return true;
  }
  /// Makes work that is enqueued on the stream from now on wait for the event.
  void hold_back(spi::DeviceRuntime& runtime, const Stream& stream) {
    const std::scoped_lock lock(mutex_);
    runtime.wait(stream, *event_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<spi::DeviceEvent> event_;
};

}  // namespace tutti::common
