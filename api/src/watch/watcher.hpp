#pragma once

#include <chrono>
#include <cstdint>

namespace tutti::detail {

struct CommunicatorState;

/// Reaction to a call that takes longer than the timeout; TUTTI_ON_HANG.
enum class OnHang : std::uint8_t {
  error,      ///< the call fails
  report,     ///< a line on standard error; the call goes on
  terminate,  ///< a line on standard error, then abort()
};

/// Timeout of operations if none is set.
inline constexpr std::chrono::nanoseconds kDefaultTimeout = std::chrono::minutes(10);
/// A timeout of the communicator that is at least this long is kept by the watcher, at no cost for the calls. The
/// backend keeps shorter ones, and those of single calls.
inline constexpr std::chrono::nanoseconds kShortestWatchedTimeout = std::chrono::seconds(1);

/// A thread of the process that watches the other ranks of communicators whose library would wait for them for ever
/// (BackendCommunicator::needs_watch()). It looks a few times a second:
/// - a rank on this host whose process has ended, that has failed or has left: the communicator fails, and a call that
///   waits for it is interrupted;
/// - a call that takes longer than the communicator's timeout: TUTTI_ON_HANG decides.
/// The thread ends with the last of the communicators.
namespace watcher {

/// Begins to watch; throws Error{system} if the thread cannot be started.
void add(CommunicatorState& state);
/// Ends it, also for a communicator that is not being watched; waits while its calls are being interrupted. Not in a
/// forked child.
void remove(CommunicatorState& state) noexcept;
/// See spi::ranks_follow_at_exit().
[[nodiscard]] bool ranks_follow_at_exit() noexcept;

}  // namespace watcher

}  // namespace tutti::detail
