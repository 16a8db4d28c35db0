#include "store/deadline.hpp"

#include <algorithm>
#include <limits>

namespace tutti {

Deadline deadline_after(std::chrono::nanoseconds timeout) noexcept {
  const Deadline now = Clock::now();
  return timeout >= Deadline::max() - now ? Deadline::max() : now + timeout;
}

std::chrono::nanoseconds time_left(Deadline deadline) noexcept {
  if (deadline == Deadline::max()) return std::chrono::nanoseconds::max();
  return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(deadline - Clock::now()));
}

int poll_timeout(Deadline deadline) noexcept {
  if (deadline == Deadline::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time_left(deadline));
  return static_cast<int>(std::min<std::int64_t>(left.count(), std::numeric_limits<int>::max()));
}

}  // namespace tutti
