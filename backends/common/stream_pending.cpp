#include "common/stream_pending.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/stream_executor.hpp"

namespace tutti::common {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A wait keeps its core for kAwake; afterwards it sleeps for kNap at a time, which is short for a GPU.
constexpr auto kAwake = 200us;
constexpr auto kNap = 50us;

}  // namespace

StreamPending::StreamPending(StreamExecutor& executor, const Operation& operation, std::shared_ptr<SharedEvent> end,
                             StreamLibrary::Finish finish)
    : executor_(executor), operation_(operation), end_(std::move(end)), finish_(std::move(finish)) {
  const auto now = Clock::now();
  next_look_ = now + StreamExecutor::kGlance;
  if (operation.timeout.count() != 0) deadline_ = now + operation.timeout;
}

bool StreamPending::do_poll() {
  const bool reached = end_->reached();
  // Also when the end was reached: aborting lets streams go on, but with wrong data.
  executor_.check_alive(operation_);
  if (reached) {
    if (finish_) finish_();
    return true;
  }
  const auto now = Clock::now();
  if (now >= next_look_) {
    next_look_ = now + StreamExecutor::kGlance;
    executor_.check_library(operation_);
  }
  if (now >= deadline_) executor_.fail_late(operation_);
  return false;
}

bool StreamPending::do_wait(spi::Deadline until) {
  const auto begin = Clock::now();
  while (!do_poll()) {
    const auto now = Clock::now();
    if (now >= until) return false;
    if (now - begin < kAwake)
      std::this_thread::yield();
    else
      std::this_thread::sleep_until(std::min({now + kNap, until, deadline_}));
  }
  return true;
}

}  // namespace tutti::common
