#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_context.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::cuda_device {

/// The CUDA stream of a tutti stream.
[[nodiscard]] inline cudaStream_t native(const Stream& stream) noexcept {
  return static_cast<cudaStream_t>(stream.native());
}

enum class Timing : bool { no, yes };

/// Reusable events of the devices. Thread-safe. Every call with an event must be in a ContextScope: a thread that has
/// no context would start one on GPU 0.
class EventPool {
 public:
  EventPool(const Api& api, Contexts& contexts)
      : api_(api), contexts_(contexts), idle_(static_cast<std::size_t>(contexts.devices())) {}

  [[nodiscard]] ContextScope enter(int device) { return {api_, contexts_, device}; }

  /// The calling thread must be in a ContextScope of the device.
  [[nodiscard]] cudaEvent_t take(int device, Timing timing);
  /// Only for an event that no enqueued work will still write to.
  void give(int device, Timing timing, cudaEvent_t event) noexcept;
  void destroy(int device, cudaEvent_t event) noexcept;

 private:
  [[nodiscard]] std::vector<cudaEvent_t>& list(int device, Timing timing) {
    return idle_[static_cast<std::size_t>(device)][timing == Timing::yes ? 1 : 0];
  }
  const Api& api_;
  Contexts& contexts_;
  std::mutex mutex_;
  std::vector<std::array<std::vector<cudaEvent_t>, 2>> idle_;
};

/// An event that returns to its pool if it was reached. An event that may still be pending is destroyed instead, which
/// CUDA puts off as long as needed: if it were recorded again, two records would write to one timestamp.
class PooledEvent {
 public:
  PooledEvent(EventPool& pool, int device, Timing timing)
      : pool_(pool), device_(device), timing_(timing), event_(pool.take(device, timing)) {}
  ~PooledEvent() { is_reached_ ? pool_.give(device_, timing_, event_) : pool_.destroy(device_, event_); }
  PooledEvent(const PooledEvent&) = delete;
  PooledEvent& operator=(const PooledEvent&) = delete;
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }
  [[nodiscard]] ContextScope enter() const { return pool_.enter(device_); }
  void set_reached() noexcept { is_reached_ = true; }

 private:
  EventPool& pool_;
  int device_;
  Timing timing_;
  cudaEvent_t event_;
  bool is_reached_ = false;
};

/// A moment in the device's clock (`event`) and in the observers' clock (`time_ns`).
struct ClockBase {
  ClockBase(EventPool& pool, int device) : event(pool, device, Timing::yes) {}
  PooledEvent event;
  std::uint64_t time_ns = 0;
};

/// Ties the devices' clocks to the observers' clock. CUDA gives only the time between two events, in milliseconds as a
/// float, so a base must be recent to be exact: after 16 seconds the error is a microsecond.
class Clock {
 public:
  Clock(const Api& api, EventPool& pool, int devices)
      : api_(api), pool_(pool), faces_(static_cast<std::size_t>(devices)) {}

  /// To be called in a ContextScope of the device. Blocks for some microseconds when the base must be renewed.
  [[nodiscard]] std::shared_ptr<const ClockBase> base(int device);

 private:
  struct Face {
    cudaStream_t stream = nullptr;
    std::shared_ptr<const ClockBase> base;
  };
  [[nodiscard]] std::shared_ptr<const ClockBase> measure(int device, cudaStream_t stream);

  const Api& api_;
  EventPool& pool_;
  std::mutex mutex_;
  std::vector<Face> faces_;
};

/// A new stream for tutti's own work, of the highest priority.
[[nodiscard]] cudaStream_t make_own_stream(const Api& api);

/// A point in a stream, or a piece of work between two.
class Event final : public spi::DeviceEvent {
 public:
  /// Records a point. Both constructors must be called in a ContextScope of the stream's device.
  Event(const Api& api, EventPool& pool, const Stream& stream);
  /// Records the beginning of work; record_end() must follow when the work is enqueued.
  Event(const Api& api, EventPool& pool, Clock& clock, const Stream& stream, std::string_view work);
  void record_end(const Stream& stream) { api_.call(&Api::event_record, end_.get(), native(stream)); }

  [[nodiscard]] cudaEvent_t native_end() const noexcept { return end_.get(); }

 private:
  bool do_ready() override;
  void do_wait() override;
  std::optional<Interval> do_interval() override;
  void set_reached() noexcept;
  [[nodiscard]] std::uint64_t nanoseconds(cudaEvent_t from, cudaEvent_t to) const;

  const Api& api_;
  PooledEvent end_;
  std::optional<PooledEvent> begin_;
  std::shared_ptr<const ClockBase> base_;
};

}  // namespace tutti::cuda_device
