#include "late_tensors.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tutti::horovod_adapter {

using ::horovod::common::Status;

namespace {

// Events cannot wake anybody up: they are asked again and again, as upstream does.
constexpr std::chrono::microseconds kPause{50};

void finish(const Submission& submission, const Status& status) {
  for (const auto& callback : submission.callbacks)
    if (callback) callback(status);
}

}  // namespace

bool Submission::is_ready() const {
  return std::ranges::all_of(events, [](const auto& list) { return list.Ready(); });
}

LateTensors& LateTensors::instance() {
  static auto* only = new LateTensors;
  return *only;
}

void LateTensors::open() {
  const std::scoped_lock lock(mutex_);
  is_open_ = true;
}

Status LateTensors::add(Submission submission) {
  {
    const std::scoped_lock lock(mutex_);
    if (!is_open_) return ::horovod::common::SHUT_DOWN_ERROR;
    for (const Submission& other : waiting_) {
      if (std::ranges::find_first_of(submission.names, other.names) != submission.names.end())
        return ::horovod::common::DUPLICATE_NAME_ERROR;
    }
    if (!submission.is_ready()) {
      waiting_.push_back(std::move(submission));
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      changed_.notify_all();
      return Status::OK();
    }
  }
  return submission.submit();
}

void LateTensors::run() {
  std::unique_lock lock(mutex_);
  while (is_open_) {
    std::list<Submission> ready;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto current = at++;
      if (current->is_ready()) ready.splice(ready.end(), waiting_, current);
    }
    if (ready.empty()) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_for(lock, kPause);
      }
      continue;
    }
    lock.unlock();
    for (const Submission& submission : ready) {
      const Status status = submission.submit();
      if (!status.ok()) finish(submission, status);
    }
    ready.clear();  // tensors of the framework: not under the lock
    lock.lock();
  }
}

void LateTensors::close() {
  std::list<Submission> ended;
  std::thread thread;
  {
    const std::scoped_lock lock(mutex_);
    is_open_ = false;
    ended.swap(waiting_);
    thread.swap(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
  for (const Submission& submission : ended) finish(submission, ::horovod::common::SHUT_DOWN_ERROR);
}

}  // namespace tutti::horovod_adapter
