#include "tutti/observer.hpp"

#include <chrono>

#include "tutti/spi/instrument.hpp"

namespace tutti {

namespace detail {
constinit std::atomic<Observer*> active_observer{nullptr};
}

namespace {
constinit thread_local OperationId operation_of_thread = 0;
}

Observer* set_observer(Observer* observer) noexcept {
  return detail::active_observer.exchange(observer, std::memory_order_acq_rel);
}

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
