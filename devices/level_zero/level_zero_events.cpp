#include "level_zero_events.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tutti/error.hpp"

namespace tutti::level_zero_device {

namespace {

constexpr std::uint32_t kEventsPerPool = 64;

/// How long to wait for commands of a list that the application may have destroyed.
constexpr std::uint64_t kPatienceNs = 2'000'000'000;

bool is_signalled(const Api& api, ze_event_handle_t event) {
  const ze_result_t result = api.event_query_status(event);
  if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY) fail(api.event_query_status.name(), result);
  return result == ZE_RESULT_SUCCESS;
}

/// A reading of a device's clock, and the host's time of it.
struct ClockReading {
  std::uint64_t host_ns = 0;
  std::uint64_t ticks = 0;
};

/// Takes the quickest of a few readings: the thread may be preempted between the two looks at the host's clock.
ClockReading read_clock(const Api& api, ze_device_handle_t device) {
  constexpr int kReadings = 3;
  ClockReading best;
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    std::uint64_t host = 0;  // not used: its clock need not be the observers'
    std::uint64_t ticks = 0;
    const std::uint64_t before = observer_time_ns();
    api.call(api.device_get_timestamps, device, &host, &ticks);
    const std::uint64_t took = observer_time_ns() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, ticks};
  }
  return best;
}

/// Host time of a command's timestamp, which may have fewer bits than the device's clock; relative to a reading of it.
std::uint64_t to_host(const ClockReading& now, std::uint64_t ticks, const ze_device_properties_t& properties) {
  const std::uint32_t bits = std::min(properties.kernelTimestampValidBits, properties.timestampValidBits);
  const std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  // The command has ended, so its time is in the past.
  const std::uint64_t ago = (now.ticks - ticks) & mask;
  const double ns = static_cast<double>(ago) * 1e9 / static_cast<double>(properties.timerResolution);
  return now.host_ns - static_cast<std::uint64_t>(ns);
}

}  // namespace

EventPool::~EventPool() {
  try {
    for (auto& slot : returned_) {
      if (slot->is_enqueued) (void)api_.event_host_synchronize(slot->handle, kPatienceNs);
      for (const auto& waiter : slot->waiters) (void)api_.event_host_synchronize(waiter->handle, kPatienceNs);
    }
    recover_all();
    // If a device may still write to events, all are leaked.
    if (!returned_.empty()) return;
    for (const auto& slot : free_) (void)api_.event_destroy(slot->handle);
    for (const ze_event_pool_handle_t pool : pools_) (void)api_.event_pool_destroy(pool);
  } catch (const Error&) {  // NOLINT: the device is lost, and a destructor cannot report it
  }
}

std::unique_ptr<EventPool::Slot> EventPool::take() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) recover_all();
  if (free_.empty()) grow();
  auto slot = std::move(free_.back());
  free_.pop_back();
  return slot;
}

void EventPool::give_back(std::unique_ptr<Slot> slot) noexcept {
  const std::scoped_lock lock(mutex_);
  returned_.push_back(std::move(slot));
}

bool EventPool::is_over(const Slot& slot) const {
  if (slot.is_enqueued && !is_signalled(api_, slot.handle)) return false;
  return std::ranges::all_of(slot.waiters, [this](const auto& waiter) { return is_over(*waiter); });
}

void EventPool::reset(Slot& slot) {
  for (const auto& waiter : slot.waiters) reset(*waiter);
  if (slot.is_enqueued) api_.call(api_.event_host_reset, slot.handle);
  slot.is_enqueued = false;
}

void EventPool::recover(std::unique_ptr<Slot> slot) {
  for (auto& waiter : slot->waiters) recover(std::move(waiter));
  slot->waiters.clear();
  free_.push_back(std::move(slot));
}

void EventPool::recover_all() {
  for (std::size_t i = 0; i < returned_.size();) {
    if (!is_over(*returned_[i])) {
      ++i;
      continue;
    }
    reset(*returned_[i]);
    // Removed from the list only now: if the driver fails before, the slot stays in the list.
    auto slot = std::exchange(returned_[i], std::move(returned_.back()));
    returned_.pop_back();
    recover(std::move(slot));
  }
}

void EventPool::grow() {
  ze_event_pool_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  desc.count = kEventsPerPool;
  ze_device_handle_t device = device_.handle;
  ze_event_pool_handle_t pool = nullptr;
  api_.call(api_.event_pool_create, context_, &desc, 1U, &device, &pool);
  pools_.push_back(pool);
  for (std::uint32_t index = 0; index < kEventsPerPool; ++index) {
    ze_event_desc_t event = {};
    event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    event.index = index;
    event.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    auto slot = std::make_unique<Slot>();
    api_.call(api_.event_create, pool, &event, &slot->handle);
    free_.push_back(std::move(slot));
  }
}

bool Event::do_ready() { return is_signalled(event_.api(), event_.handle()); }

void Event::do_wait() {
  const Api& api = event_.api();
  if (is_work_) {
    api.call(api.event_host_synchronize, event_.handle(), UINT64_MAX);
    return;
  }
  // The application's work may take long, and drivers wait by polling without a pause.
  using namespace std::chrono_literals;
  constexpr std::uint64_t kLookNs = 50'000;
  constexpr auto kLongestPause = 100us;
  for (auto pause = 5us;; pause = std::min(2 * pause, kLongestPause)) {
    const ze_result_t result = api.event_host_synchronize(event_.handle(), kLookNs);
    if (result == ZE_RESULT_SUCCESS) return;
    if (result != ZE_RESULT_NOT_READY) fail(api.event_host_synchronize.name(), result);
    std::this_thread::sleep_for(pause);
  }
}

std::optional<spi::DeviceEvent::Interval> Event::do_interval() {
  if (!is_work_) return std::nullopt;
  const Api& api = event_.api();
  const DeviceEntry& device = event_.pool()->device();
  if (device.properties.timerResolution == 0) return std::nullopt;
  ze_kernel_timestamp_result_t times = {};
  api.call(api.event_query_timestamp, event_.handle(), &times);
  const ClockReading now = read_clock(api, device.handle);
  const std::uint64_t end = to_host(now, times.global.kernelEnd, device.properties);
  const std::uint64_t begin = to_host(now, times.global.kernelStart, device.properties);
  // The clocks agree only to within a reading; a larger difference means that the counter has wrapped in between.
  constexpr std::uint64_t kDoubtNs = 10'000'000;
  if (end < begin || begin + kDoubtNs < appended_ns_) return std::nullopt;
  // The duration is exact, the beginning is not.
  const std::uint64_t early = appended_ns_ > begin ? appended_ns_ - begin : 0;
  return Interval{begin + early, end + early};
}

void append_barrier(const Api& api, const CommandList& list) {
  if (!list.is_in_order) api.call(api.list_append_barrier, list.list, nullptr, 0U, nullptr);
}

void append_wait(const CommandList& list, PooledEvent& event) {
  const Api& api = event.api();
  auto passed = event.pool()->take();
  ze_event_handle_t awaited = event.handle();
  try {
    api.call(api.list_append_barrier, list.list, passed->handle, 1U, &awaited);
  } catch (const Error&) {
    event.pool()->give_back(std::move(passed));
    throw;
  }
  passed->is_enqueued = true;
  event.slot().waiters.push_back(std::move(passed));
}

std::unique_ptr<Event> record(const Stream& stream, std::shared_ptr<EventPool> pool) {
  const Api& api = pool->api();
  auto event = std::make_unique<Event>(stream.device(), std::string_view(), std::move(pool));
  api.call(api.list_append_barrier, list_of(stream).list, event->pooled().handle(), 0U, nullptr);
  event->pooled().slot().is_enqueued = true;
  return event;
}

namespace {

class Gate final : public spi::DeviceGate {
 public:
  explicit Gate(std::shared_ptr<EventPool> pool) : event_(std::move(pool)) {}
  ~Gate() override { do_open(); }
  [[nodiscard]] PooledEvent& pooled() noexcept { return event_; }

 private:
  void do_open() noexcept override {
    if (is_open_.exchange(true)) return;
    (void)event_.api().event_host_signal(event_.handle());
    event_.slot().is_enqueued = true;
  }

  PooledEvent event_;
  std::atomic<bool> is_open_ = false;
};

}  // namespace

std::unique_ptr<spi::DeviceGate> hold(const CommandList& list, std::shared_ptr<EventPool> pool) {
  auto gate = std::make_unique<Gate>(std::move(pool));
  append_wait(list, gate->pooled());
  return gate;
}

}  // namespace tutti::level_zero_device
