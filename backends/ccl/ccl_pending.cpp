#include "ccl_pending.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ccl_backend.hpp"

namespace tutti::ccl {
namespace {

// Interval at which a waiting thread checks for an abort by another thread.
constexpr auto kGlance = std::chrono::milliseconds(20);

}  // namespace

Pending::Pending(Communicator& communicator, const Operation& operation, Worker& worker, Worker::Work work)
    : communicator_(communicator), operation_(operation), worker_(worker) {
  if (operation.timeout.count() != 0) deadline_ = Worker::Clock::now() + operation.timeout;
  task_ = worker.submit(std::move(work));
}

Pending::~Pending() {
  if (task_->is_done()) return;
  communicator_.give_up(Error(
      ErrorCode::backend_failure,
      "the communicator is no longer usable: " + describe(operation_) + " was abandoned before oneCCL had completed it",
      "ccl"));
}

bool Pending::finish_if_done() {
  if (!task_->is_done()) return false;
  task_->get();
  return true;
}

bool Pending::do_poll() {
  if (finish_if_done()) return true;
  communicator_.check_alive(operation_);
  if (deadline_ != spi::Deadline::max() && Worker::Clock::now() >= deadline_) communicator_.fail_late(operation_);
  return false;
}

bool Pending::do_wait(spi::Deadline until) {
  while (!do_poll()) {
    const auto now = Worker::Clock::now();
    if (now >= until) return false;
    (void)worker_.wait(*task_, std::min({until, deadline_, now + kGlance}));
  }
  return true;
}

}  // namespace tutti::ccl
