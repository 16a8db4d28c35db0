#include "tutti/observer.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "observers.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti {

namespace detail {
constinit std::atomic<Observer*> active_observer{nullptr};
constinit std::atomic<std::uint32_t> attention{0};
}  // namespace detail

namespace {

constinit thread_local OperationId operation_of_thread = 0;

/// A thread that delivers records. Its epoch is odd while it does, so that a removal can wait until every delivery that
/// may have seen the removed observer has ended. Never freed; reused by another thread when its thread has ended.
struct alignas(64) Deliverer {
  std::atomic<std::uint64_t> epoch = 0;
  std::atomic<bool> is_used = true;
  Deliverer* next = nullptr;
  int depth = 0;  ///< of deliveries within deliveries; used by the thread only
};

constinit std::atomic<Deliverer*> deliverers{nullptr};

constinit thread_local Deliverer* deliverer_of_thread = nullptr;

Deliverer* take_deliverer() {
  for (Deliverer* known = deliverers.load(std::memory_order_acquire); known != nullptr; known = known->next) {
    bool expected = false;
    if (known->is_used.compare_exchange_strong(expected, true, std::memory_order_acquire)) return known;
  }
  auto* added = new Deliverer;
  added->next = deliverers.load(std::memory_order_relaxed);
  while (!deliverers.compare_exchange_weak(added->next, added, std::memory_order_release)) {
  }
  return added;
}

/// Gives the deliverer of a thread back when the thread ends. Records that come even later, from destructors of other
/// thread-local objects, take another one and keep it.
struct DelivererReturn {
  ~DelivererReturn() {
    if (deliverer_of_thread == nullptr) return;
    std::exchange(deliverer_of_thread, nullptr)->is_used.store(false, std::memory_order_release);
  }
};

Deliverer& this_deliverer() {
  if (deliverer_of_thread == nullptr) [[unlikely]] {
    deliverer_of_thread = take_deliverer();
    thread_local const DelivererReturn at_end;
    (void)at_end;
  }
  return *deliverer_of_thread;
}

/// Marks this thread as delivering.
class Delivery {
 public:
  Delivery() : deliverer_(this_deliverer()) {
    if (deliverer_.depth++ == 0) {
      // A store, not an atomic addition: only this thread writes its epoch.
      deliverer_.epoch.store(deliverer_.epoch.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      // Pairs with the fence of a removal: either that one sees this delivery, or this delivery sees the new list.
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  ~Delivery() {
    if (--deliverer_.depth == 0) {
      deliverer_.epoch.store(deliverer_.epoch.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

 private:
  Deliverer& deliverer_;
};

/// Passes every record on to the observers that were added, in that order.
class Observers final : public Observer {
 public:
  void add(Observer& observer) {
    {
      const std::scoped_lock lock(mutex_);
      auto next = std::make_unique<List>(*list_);
      next->push_back(&observer);
      publish(std::move(next));
      detail::attention.fetch_add(1, std::memory_order_relaxed);
      detail::active_observer.store(this, std::memory_order_release);
      const Delivery delivery;
      for (const auto& [id, communicator] : live_) observer.on(created(communicator));
    }
    wait_for_deliveries();
  }

  void remove(Observer& observer) noexcept {
    if (withdraw(observer)) wait_for_deliveries();
  }

  void report_created(LiveCommunicator communicator) {
    const std::scoped_lock lock(mutex_);
    const LiveCommunicator& kept = live_[communicator.id] = std::move(communicator);
    on(created(kept));
  }
  void report_destroyed(std::uint64_t id) noexcept {
    const std::scoped_lock lock(mutex_);
    live_.erase(id);
    on(CommunicatorDestroyed{id, observer_time_ns()});
  }

  void on(const CommunicatorCreated& record) noexcept override { deliver(record); }
  void on(const CommunicatorDestroyed& record) noexcept override { deliver(record); }
  void on(const OpIssued& record) noexcept override { deliver(record); }
  void on(const OpCompleted& record) noexcept override { deliver(record); }
  void on(const HostCall& record) noexcept override { deliver(record); }
  void on(const Allocation& record) noexcept override { deliver(record); }
  void on(const Free& record) noexcept override { deliver(record); }
  void on(const Traffic& record) noexcept override { deliver(record); }
  void on(const DeviceInterval& record) noexcept override { deliver(record); }
  void on(const WaitBegun& record) noexcept override { deliver(record); }
  void on(const InnerOperation& record) noexcept override { deliver(record); }

 private:
  using List = std::vector<Observer*>;

  /// Takes an observer out of the list; false if it is not there.
  bool withdraw(Observer& observer) noexcept {
    const std::scoped_lock lock(mutex_);
    auto next = std::make_unique<List>(*list_);
    // The last one, so that an observer that was added twice leaves in the opposite order.
    const auto found = std::find(next->rbegin(), next->rend(), &observer);
    if (found == next->rend()) return false;
    next->erase(std::next(found).base());
    if (next->empty()) detail::active_observer.store(nullptr, std::memory_order_release);
    detail::attention.fetch_sub(1, std::memory_order_relaxed);
    publish(std::move(next));
    return true;
  }

  template <typename Record>
  void deliver(const Record& record) noexcept {
    const Delivery delivery;
    for (Observer* observer : *current_.load(std::memory_order_acquire)) observer->on(record);
  }

  static CommunicatorCreated created(const LiveCommunicator& communicator) noexcept {
    return {communicator.id,   communicator.parent, communicator.key,   communicator.name, communicator.backend,
            communicator.rank, communicator.size,   communicator.hosts, observer_time_ns()};
  }

  /// Makes a list the one that new deliveries see. Deliveries under way may still use the one before.
  void publish(std::unique_ptr<List> next) noexcept {
    current_.store(next.get(), std::memory_order_release);
    retired_.push_back(std::exchange(list_, std::move(next)));
    if (const pid_t process = getpid(); process != process_) {
      // A child of fork() has none of its parent's other threads, whatever they were doing.
      for (Deliverer* one = deliverers.load(std::memory_order_acquire); one != nullptr; one = one->next) {
        if (one != &this_deliverer() && one->epoch.load(std::memory_order_relaxed) % 2 == 1) one->epoch.fetch_add(1);
      }
      process_ = process;
    }
  }

  /// Waits until no delivery uses a list that was replaced before, and frees those lists. Without the mutex, which a
  /// delivery may wait for. A caller within a delivery does not wait: another one could wait for it likewise.
  void wait_for_deliveries() noexcept {
    if (this_deliverer().depth != 0) return;
    std::vector<std::unique_ptr<List>> unused;
    {
      const std::scoped_lock lock(mutex_);
      unused.swap(retired_);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (Deliverer* one = deliverers.load(std::memory_order_acquire); one != nullptr; one = one->next) {
      if (one == &this_deliverer()) continue;
      const std::uint64_t seen = one->epoch.load(std::memory_order_acquire);
      while (seen % 2 == 1 && one->epoch.load(std::memory_order_acquire) == seen) std::this_thread::yield();
    }
  }

  std::recursive_mutex mutex_;  ///< an observer may add or remove one when it is told of a communicator
  std::unique_ptr<List> list_ = std::make_unique<List>();
  std::vector<std::unique_ptr<List>> retired_;  ///< lists that deliveries may still use
  std::atomic<List*> current_ = list_.get();
  std::map<std::uint64_t, LiveCommunicator> live_;
  pid_t process_ = getpid();
};

Observers& observers() {
  // Never destroyed: static communicators may report until the process ends.
  static auto* const all = new Observers;
  return *all;
}

}  // namespace

namespace detail {
void remove_observer(Observer& observer) noexcept { observers().remove(observer); }
}  // namespace detail

ObserverHandle add_observer(Observer& observer) {
  observers().add(observer);
  return ObserverHandle(observer);
}

void report_created(LiveCommunicator communicator) { observers().report_created(std::move(communicator)); }
void report_destroyed(std::uint64_t id) noexcept { observers().report_destroyed(id); }

std::uint64_t observer_time_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

namespace spi {

OperationId current_operation() noexcept { return operation_of_thread; }

OperationScope::OperationScope(OperationId id) noexcept : previous_(operation_of_thread) { operation_of_thread = id; }
OperationScope::~OperationScope() { operation_of_thread = previous_; }

}  // namespace spi

}  // namespace tutti
