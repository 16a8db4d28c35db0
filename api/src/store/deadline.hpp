#pragma once

#include <chrono>

namespace tutti {

using Clock = std::chrono::steady_clock;

/// A point in time by which something must have happened; Deadline::max() is never.
using Deadline = Clock::time_point;

/// Does not wrap around for timeouts that mean "for ever".
[[nodiscard]] Deadline deadline_after(std::chrono::nanoseconds timeout) noexcept;

/// What is left until then; not below 0.
[[nodiscard]] std::chrono::nanoseconds time_left(Deadline deadline) noexcept;

/// The same as poll() and epoll_wait() want it: milliseconds, rounded up so that they do not return just before the
/// time.
[[nodiscard]] int poll_timeout(Deadline deadline) noexcept;

}  // namespace tutti
