#include "cuda_events.hpp"

#include <cmath>

#include "tutti/error.hpp"

namespace tutti::cuda_device {

namespace {

constexpr std::uint64_t kBaseLifetimeNs = 8'000'000'000;

}  // namespace

cudaEvent_t EventPool::take(int device, Timing timing) {
  {
    const std::scoped_lock lock(mutex_);
    auto& idle = list(device, timing);
    if (!idle.empty()) {
      cudaEvent_t event = idle.back();
      idle.pop_back();
      return event;
    }
  }
  // An event without timing may be waited for as long as the application's work takes: without a spinning core.
  const unsigned flags = timing == Timing::yes ? cudaEventDefault : cudaEventDisableTiming | cudaEventBlockingSync;
  cudaEvent_t event = nullptr;
  api_.call(&Api::event_create_with_flags, &event, flags);
  return event;
}

void EventPool::give(int device, Timing timing, cudaEvent_t event) noexcept {
  const std::scoped_lock lock(mutex_);
  list(device, timing).push_back(event);
}

void EventPool::destroy(int device, cudaEvent_t event) noexcept {
  try {
    const ContextScope scope = enter(device);
    (void)api_.event_destroy(event);
  } catch (const Error&) {  // NOLINT: a lost device has nothing to give back
  }
}

std::shared_ptr<const ClockBase> Clock::base(int device) {
  const std::scoped_lock lock(mutex_);
  Face& face = faces_[static_cast<std::size_t>(device)];
  if (face.base != nullptr && observer_time_ns() - face.base->time_ns < kBaseLifetimeNs) return face.base;
  if (face.stream == nullptr) face.stream = make_own_stream(api_);
  face.base = measure(device, face.stream);
  return face.base;
}

std::shared_ptr<const ClockBase> Clock::measure(int device, cudaStream_t stream) {
  constexpr int kAttempts = 4;
  std::shared_ptr<ClockBase> best;
  std::uint64_t shortest = UINT64_MAX;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto next = std::make_shared<ClockBase>(pool_, device);
    const std::uint64_t before = observer_time_ns();
    api_.call(&Api::event_record, next->event.get(), stream);
    api_.call(&Api::event_synchronize, next->event.get());
    next->event.set_reached();
    const std::uint64_t taken = observer_time_ns() - before;
    next->time_ns = before + taken / 2;
    if (taken >= shortest) continue;
    shortest = taken;
    best = std::move(next);
  }
  return best;
}

cudaStream_t make_own_stream(const Api& api) {
  int least = 0;
  int greatest = 0;
  api.call(&Api::device_get_stream_priority_range, &least, &greatest);
  cudaStream_t stream = nullptr;
  // Highest priority: streams of one priority may share a hardware queue, and tutti's work must not queue behind the
  // application's stream that waits for it.
  api.call(&Api::stream_create_with_priority, &stream, unsigned{cudaStreamNonBlocking}, greatest);
  return stream;
}

Event::Event(const Api& api, EventPool& pool, const Stream& stream)
    : DeviceEvent(stream.device(), {}), api_(api), end_(pool, stream.device().index(), Timing::no) {
  record_end(stream);
}

Event::Event(const Api& api, EventPool& pool, Clock& clock, const Stream& stream, std::string_view work)
    : DeviceEvent(stream.device(), work),
      api_(api),
      end_(pool, stream.device().index(), Timing::yes),
      base_(clock.base(stream.device().index())) {
  begin_.emplace(pool, stream.device().index(), Timing::yes);
  api_.call(&Api::event_record, begin_->get(), native(stream));
}

bool Event::do_ready() {
  const ContextScope scope = end_.enter();
  const cudaError_t state = api_.event_query(end_.get());
  if (state == cudaSuccess) {
    set_reached();
    return true;
  }
  if (state != cudaErrorNotReady) api_.fail(api_.event_query.name(), state);
  (void)api_.get_last_error();  // the runtime remembers "not ready" like an error
  return false;
}

void Event::do_wait() {
  const ContextScope scope = end_.enter();
  api_.call(&Api::event_synchronize, end_.get());
  set_reached();
}

void Event::set_reached() noexcept {
  end_.set_reached();
  if (begin_) begin_->set_reached();  // comes before the end on the stream
}

std::optional<spi::DeviceEvent::Interval> Event::do_interval() {
  if (!begin_) return std::nullopt;
  const ContextScope scope = end_.enter();
  const std::uint64_t begin = base_->time_ns + nanoseconds(base_->event.get(), begin_->get());
  return Interval{begin, begin + nanoseconds(begin_->get(), end_.get())};
}

std::uint64_t Event::nanoseconds(cudaEvent_t from, cudaEvent_t to) const {
  float milliseconds = 0;
  api_.call(&Api::event_elapsed_time, &milliseconds, from, to);
  return milliseconds <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(static_cast<double>(milliseconds) * 1e6));
}

}  // namespace tutti::cuda_device
