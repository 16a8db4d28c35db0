#include "issue/issue_queue.hpp"

#include <chrono>
#include <utility>

#include "progress.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::adapters::mpi {
namespace {

constexpr std::chrono::microseconds kSlice{50};

}  // namespace

IssueQueue::~IssueQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IssueQueue::add(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = spi::start_thread("tutti-mpi", [this] { serve(); });
    calls_.push_back(std::move(call));
  }
  changed_.notify_all();
}

void IssueQueue::drain() noexcept {
  std::unique_lock lock(mutex_);
  // Another rank may wait for a message that this one has begun to send.
  while (!changed_.wait_for(lock, kSlice, [this] { return calls_.empty(); })) {
    lock.unlock();
    drive_mpi();
    lock.lock();
  }
}

bool IssueQueue::is_busy() const noexcept {
  const std::lock_guard lock(mutex_);
  return !calls_.empty();
}

void IssueQueue::serve() noexcept {
  leave_mpi_to_others();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !calls_.empty(); });
    if (calls_.empty()) return;
    const std::function<void()>& call = calls_.front();  // stays where it is when others are added
    lock.unlock();
    call();
    lock.lock();
    calls_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace tutti::adapters::mpi
