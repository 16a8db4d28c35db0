#include "engine/set_engine.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "tutti/spi/thread.hpp"

namespace tutti::horovod {

namespace {

using namespace std::chrono_literals;

constexpr auto kFirstSlice = 5ms;
constexpr auto kLongestSlice = 200ms;
constexpr auto kFirstRest = 20us;
constexpr int kIdleLooks = 20;
constexpr std::chrono::nanoseconds kShortestLook = 500us;
constexpr unsigned kRestDoublings = 16;

/// Binds the calling thread to a core. A core that the process may not use is as good as none.
void pin_this_thread(int core) noexcept {
  if (core < 0 || core >= CPU_SETSIZE) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  (void)sched_setaffinity(0, sizeof(cores), &cores);
}

void set_bit(std::vector<std::uint64_t>& words, std::uint32_t position) {
  const std::size_t word = position / 64;
  if (words.size() <= word) words.resize(word + 1);
  words[word] |= std::uint64_t{1} << position % 64;
}

}  // namespace

SetEngine::SetEngine(std::unique_ptr<spi::BackendCommunicator> control, std::unique_ptr<spi::BackendCommunicator> data,
                     Rendezvous meeting, const Options& options, std::unique_ptr<Autotuner> tuner)
    : control_(std::move(control)),
      data_(std::move(data)),
      departure_(meeting),
      stages_(inner_name(*data_), options.controller.size),
      is_first_(options.controller.rank == 0),
      inner_switch_(options.inner_switch),
      shows_stall_(options.shows_stall),
      core_(options.core),
      parameters_(options.controller.parameters),
      controller_(options.controller),
      exchange_(*control_, options.controller.size),
      executor_(*data_,
                {.rank = options.controller.rank,
                 .size = options.controller.size,
                 .piece_bytes = options.piece_bytes,
                 .adasum_message = options.adasum_message},
                &timeline_, &stages_),
      tuner_(std::move(tuner)),
      stalls_(options.stalls, meeting) {}

SetEngine::~SetEngine() { shutdown(); }

std::string inner_name(spi::BackendCommunicator& data) { return data.route({}).name(); }

bool SetEngine::has_work() const {
  return !queue_.empty() || exchange_.is_busy() || executor_.is_busy() || !schedule_.empty();
}

void SetEngine::enqueue(std::span<const EntryPointer> entries, bool quiet) {
  if (TensorStages::is_watched()) {
    for (const EntryPointer& entry : entries) entry->stage_ns = TensorStages::now();
  }
  const Lock lock(mutex_);
  if (failure_) throw Error(*failure_);
  queue_.add(entries);
  if (is_resting_) tensors_came_.notify_all();
  if (quiet || is_driven_) return;
  const bool is_full = queue_.new_bytes() >= parameters_.fusion_threshold;
  const auto now = Clock::now();
  if (!thread_.joinable()) {
    due_ = now + std::chrono::nanoseconds(parameters_.cycle_ns);
    thread_ = spi::start_thread("tutti-horovod", [this] { run_thread(); });
  } else if (is_full) {
    wake_thread(now);
  } else if (thread_sleeps_) {
    wake_thread(now + std::chrono::nanoseconds(parameters_.cycle_ns));
  } else if (due_ == Clock::time_point{}) {
    due_ = now + std::chrono::nanoseconds(parameters_.cycle_ns);  // the thread looks within that time
  }
}

void SetEngine::use_device(const Stream& stream) {
  const Lock lock(mutex_);
  if (device_ == nullptr) device_ = std::make_unique<DevicePlace>(stream);
  if (device_->has(stream)) return;
  throw Error(ErrorCode::invalid_argument,
              "the tensor is in memory of " + stream.device().name() + ", but this engine has taken memory of " +
                  device_->where().device.name() +
                  " before; an engine takes memory of one device and context (a communicator has its own engine)",
              "horovod");
}

bool SetEngine::takes_device(std::string_view module, const Operation& operation) const {
  const spi::Capabilities& has = data_->capabilities();
  return has.takes(module, MemoryKind::device) && has.takes(module, operation.where.kind) && has.takes(operation);
}

void SetEngine::wake_thread(Clock::time_point due) {
  due_ = due;
  thread_wakes_.notify_all();
}

/// After its last cycle the thread looks a few times for tensors before it sleeps, so that a busy program does not pay
/// for waking it up with every tensor.
void SetEngine::run_thread() {
  pin_this_thread(core_);
  int idle_looks = 0;
  Lock lock(mutex_);
  while (!stops_.load(std::memory_order_relaxed)) {
    if (is_driven_ || !has_work()) {
      due_ = {};
      idle_looks = std::min(idle_looks + 1, kIdleLooks);
      if (idle_looks < kIdleLooks) {
        thread_wakes_.wait_for(lock, std::max(kShortestLook, std::chrono::nanoseconds(parameters_.cycle_ns)));
        continue;
      }
      thread_sleeps_ = true;
      thread_wakes_.wait(lock);
      thread_sleeps_ = false;
      idle_looks = 0;
    } else if (due_ > Clock::now()) {
      thread_wakes_.wait_until(lock, due_);
    } else {
      drive(lock, nullptr, spi::Deadline::max());
      idle_looks = 0;
    }
  }
}

bool SetEngine::wait(Entry& entry, spi::Deadline until) {
  Lock lock(mutex_);
  while (!entry.is_done) {
    if (!is_driven_) {
      drive(lock, &entry, until);
    } else {
      ++waiters_;
      const auto ready = [&] { return entry.is_done || !is_driven_; };
      if (until == spi::Deadline::max()) {
        driver_left_.wait(lock, ready);
      } else {
        driver_left_.wait_until(lock, until, ready);
      }
      --waiters_;
    }
    if (!entry.is_done && until != spi::Deadline::max() && Clock::now() >= until) return false;
  }
  return true;
}

bool SetEngine::poll(Entry& entry) {
  const Lock lock(mutex_);
  if (entry.is_done) return true;
  if (!is_driven_ && thread_.joinable()) wake_thread(Clock::now());
  return false;
}

void SetEngine::rethrow(const Entry& entry) {
  if (entry.error) throw Error(*entry.error);
}

/// Takes the role of the driver until `entry` is complete, nothing is left to do or `until` has passed.
void SetEngine::drive(Lock& lock, const Entry* entry, spi::Deadline until) {
  is_driven_ = true;
  due_ = {};
  while (has_work() && (entry == nullptr || !entry->is_done)) {
    if (failure_) {
      end_all(lock);
      break;
    }
    lock.unlock();
    Step done = Step::progressed;
    std::optional<Error> failure;
    try {
      done = step(until);
    } catch (const Error& error) {
      failure = error;
    } catch (const std::exception& error) {
      failure = Error(ErrorCode::system, std::string("the engine failed: ") + error.what(), "horovod");
    }
    if (failure) failure = reason_of(std::move(*failure));
    lock.lock();
    if (failure && !failure_) failure_ = std::move(failure);
    if (failure_) continue;
    if (done == Step::unfinished) break;
    if (done == Step::fruitless) rest(lock, until);
  }
  is_driven_ = false;
  if (waiters_ > 0) driver_left_.notify_all();
  if (!has_work()) return;
  if (thread_.joinable()) {
    wake_thread(Clock::now());
  } else if (waiters_ == 0 && !stops_) {
    thread_ = spi::start_thread("tutti-horovod", [this] { run_thread(); });
  }
}

/// After a round in which no tensor was complete: the next one would be the same unless something changes.
void SetEngine::rest(Lock& lock, spi::Deadline until) {
  const std::chrono::nanoseconds longest(parameters_.cycle_ns);
  const std::chrono::nanoseconds rest = std::min<std::chrono::nanoseconds>(
      longest, kFirstRest * (1 << std::min<std::uint64_t>(fruitless_, kRestDoublings)));
  is_resting_ = true;
  tensors_came_.wait_until(lock, std::min(until, Clock::now() + rest),
                           [&] { return queue_.has_new() || failure_ || stops_; });
  is_resting_ = false;
}

/// Waits in slices, so that this rank notices when another one has left; with `may_stop`, also when this rank is to.
bool SetEngine::wait_in_slices(spi::Deadline until, bool may_stop, const Wait& wait) {
  Clock::duration slice = kFirstSlice;
  while (true) {
    const spi::Deadline end = std::min(until, Clock::now() + slice);
    if (wait(end)) return true;
    if (may_stop && stops_) throw shutdown_error();
    if (end == until) return false;
    if (slice < kLongestSlice) {
      slice *= 2;
      continue;
    }
    if (may_stop) look_into_round();
    if (may_stop && is_answered_) return false;
    const auto left = departure_.seen();
    // A round that is under way needs one more than those that are complete.
    if (left && *left < rounds_ + (may_stop ? 1 : 0)) {
      if (wait(Clock::now())) return true;
      throw shutdown_error();
    }
  }
}

SetEngine::Step SetEngine::step(spi::Deadline until) {
  if (is_performing_) return perform(until) ? Step::progressed : Step::unfinished;
  if (!exchange_.is_busy()) {
    if (stops_) throw shutdown_error();
    begin_round();
  }
  if (!wait_in_slices(until, true, [&](spi::Deadline end) { return exchange_.wait(end); })) return Step::unfinished;
  std::vector<RoundMessage> messages = exchange_.take();
  ++rounds_;
  if (timeline_.is_running()) show_negotiation(messages);
  Controller::Decision decision = controller_.decide(messages);
  if (decision.shutdown) throw shutdown_error();
  take(stalls_.after_round(messages, controller_, Clock::now()));
  if (controller_.parameters() != parameters_) {
    const Lock lock(mutex_);
    parameters_ = controller_.parameters();
    if (inner_switch_ != nullptr) inner_switch_->select(parameters_.inner);
  }
  admit(std::move(decision.responses));
  if (schedule_.empty()) {
    ++fruitless_;
    return Step::fruitless;
  }
  fruitless_ = 0;
  return perform(until) ? Step::progressed : Step::unfinished;
}

void SetEngine::begin_round() {
  RoundMessage message;
  std::vector<EntryPointer> fresh;
  {
    const Lock lock(mutex_);
    fresh = queue_.take_new();
    if (is_first_ && wanted_parameters_) {
      message.has_parameters = true;
      message.parameters = *std::exchange(wanted_parameters_, std::nullopt);
    }
  }
  if (TensorStages::is_watched()) stages_.negotiating(fresh);
  std::erase_if(hits_, [](const Hit& hit) { return hit.entry->is_taken; });
  const std::uint64_t erasures = controller_.cache().erasures();
  if (erasures != std::exchange(erasures_, erasures)) {
    for (Hit& hit : std::exchange(hits_, {})) fresh.push_back(std::move(hit.entry));
  }
  classify(std::move(fresh), message);
  exchange_.begin(message);
}

/// Puts tensors of the cache into the bits of the message, and others as requests.
void SetEngine::classify(std::vector<EntryPointer> fresh, RoundMessage& message) {
  using State = ResponseCache::State;
  const bool caches = controller_.parameters().cache;
  for (EntryPointer& entry : fresh) {
    const Request& request = entry->request;
    const auto found = caches && request.cacheable ? controller_.cache().find(request) : ResponseCache::Found{};
    if (found.state == State::hit) {
      hits_.push_back({std::move(entry), found.position});
      continue;
    }
    if (found.state == State::invalid) message.invalid.push_back(found.position);
    message.requests.push_back(&request);
  }
  for (const Hit& hit : hits_) set_bit(message.hits, hit.position);
}

Parameters SetEngine::parameters() const {
  const Lock lock(mutex_);
  return wanted_parameters_.value_or(parameters_);
}

void SetEngine::set_parameters(const Parameters& parameters) {
  const Lock lock(mutex_);
  wanted_parameters_ = parameters;
}

}  // namespace tutti::horovod
