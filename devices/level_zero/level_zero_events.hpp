#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "level_zero_devices.hpp"
#include "tutti/level_zero.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::level_zero_device {

using level_zero::CommandList;

/// The events of a context and device. An event must not be destroyed or reset while a command may still signal it or
/// wait for it: events that are given back are reused only after that.
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  struct Slot {
    ze_event_handle_t handle = nullptr;
    bool is_enqueued = false;                    ///< a command or the host will signal it, or has
    std::vector<std::unique_ptr<Slot>> waiters;  ///< signalled by the commands that wait for this event
  };

  EventPool(const Api& api, ze_context_handle_t context, const DeviceEntry& device)
      : api_(api), context_(context), device_(device) {}
  /// Waits for a limited time for commands that still use events.
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  [[nodiscard]] std::unique_ptr<Slot> take();
  void give_back(std::unique_ptr<Slot> slot) noexcept;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] const DeviceEntry& device() const noexcept { return device_; }

 private:
  [[nodiscard]] bool is_over(const Slot& slot) const;
  /// Resets an event that is over, and its waiters.
  void reset(Slot& slot);
  void recover(std::unique_ptr<Slot> slot);
  void recover_all();
  void grow();

  const Api& api_;
  ze_context_handle_t context_;
  const DeviceEntry& device_;
  std::mutex mutex_;
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<std::unique_ptr<Slot>> free_;
  std::vector<std::unique_ptr<Slot>> returned_;  ///< perhaps still in use
};

/// An event that goes back to its pool.
class PooledEvent {
 public:
  explicit PooledEvent(std::shared_ptr<EventPool> pool) : pool_(std::move(pool)), slot_(pool_->take()) {}
  ~PooledEvent() { pool_->give_back(std::move(slot_)); }
  PooledEvent(const PooledEvent&) = delete;
  PooledEvent& operator=(const PooledEvent&) = delete;

  [[nodiscard]] const std::shared_ptr<EventPool>& pool() const noexcept { return pool_; }
  [[nodiscard]] const Api& api() const noexcept { return pool_->api(); }
  [[nodiscard]] EventPool::Slot& slot() noexcept { return *slot_; }
  [[nodiscard]] ze_event_handle_t handle() const noexcept { return slot_->handle; }

 private:
  std::shared_ptr<EventPool> pool_;
  std::unique_ptr<EventPool::Slot> slot_;
};

/// An event of a command list.
class Event final : public spi::DeviceEvent {
 public:
  /// `work` is the name of tutti's own work; "" for a point in a list.
  Event(Device device, std::string_view work, std::shared_ptr<EventPool> pool)
      : DeviceEvent(device, work), event_(std::move(pool)), is_work_(!work.empty()), appended_ns_(observer_time_ns()) {}

  [[nodiscard]] PooledEvent& pooled() noexcept { return event_; }

 private:
  bool do_ready() override;
  void do_wait() override;
  std::optional<Interval> do_interval() override;

  PooledEvent event_;
  bool is_work_;
  std::uint64_t appended_ns_;  ///< of the observers' clock; the work does not begin earlier
};

/// Makes commands appended later run after those appended before; an in-order list does that by itself.
void append_barrier(const Api& api, const CommandList& list);

/// Makes commands appended to the list from now on wait for `event`, which may be destroyed before it is reached.
void append_wait(const CommandList& list, PooledEvent& event);

/// An event that is reached when all commands appended to the list so far have ended.
[[nodiscard]] std::unique_ptr<Event> record(const Stream& stream, std::shared_ptr<EventPool> pool);

/// Holds back commands appended to the list from now on, by an event that the host signals.
[[nodiscard]] std::unique_ptr<spi::DeviceGate> hold(const CommandList& list, std::shared_ptr<EventPool> pool);

/// The command list behind a stream.
[[nodiscard]] inline CommandList& list_of(const Stream& stream) noexcept {
  return *static_cast<CommandList*>(stream.native());
}

}  // namespace tutti::level_zero_device
