#pragma once

#include <chrono>

namespace tutti {

using Clock = std::chrono::steady_clock;

/// Time by which something must have happened; Deadline::max(): no limit.
using Deadline = Clock::time_point;

/// Now plus `timeout`; Deadline::max() if the sum would overflow.
[[nodiscard]] Deadline deadline_after(std::chrono::nanoseconds timeout) noexcept;

/// Time until the deadline, at least 0; nanoseconds::max() if there is no limit.
[[nodiscard]] std::chrono::nanoseconds time_left(Deadline deadline) noexcept;

/// Time until the deadline for poll() and epoll_wait(): in milliseconds, rounded up so that they do not return just
/// before the deadline; -1 if there is no limit.
[[nodiscard]] int poll_timeout(Deadline deadline) noexcept;

}  // namespace tutti
