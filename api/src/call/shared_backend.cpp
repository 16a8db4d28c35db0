#include "call/shared_backend.hpp"

#include <mutex>
#include <utility>

namespace tutti {

class SharedBackend::Pending final : public spi::PendingOperation {
 public:
  /// With the lock held.
  Pending(FairLock& lock, std::unique_ptr<spi::PendingOperation> operation) noexcept
      : lock_(lock), operation_(std::move(operation)) {}
  ~Pending() override {
    if (operation_ == nullptr) return;
    const std::scoped_lock lock(lock_);
    operation_.reset();
  }

 private:
  bool do_poll() override { return do_wait(std::chrono::steady_clock::now()); }
  bool do_wait(spi::Deadline until) override {
    return in_slices(lock_, until, [this](spi::Deadline slice) {
      try {
        if (operation_ != nullptr && !operation_->wait(slice)) return false;
      } catch (...) {
        operation_.reset();  // it may still be in the backend's lists, and this thread is about to let go of the lock
        throw;
      }
      operation_.reset();
      return true;
    });
  }

  FairLock& lock_;
  std::unique_ptr<spi::PendingOperation> operation_;
};

bool SharedBackend::run_if_reached(const Operation& operation) {
  const std::scoped_lock lock(lock_);
  if (!inner().reaches(operation)) return false;
  inner().run(operation);
  return true;
}

bool SharedBackend::do_reaches(const Operation& operation) {
  const std::scoped_lock lock(lock_);
  return inner().reaches(operation);
}

void SharedBackend::do_run(const Operation& operation) { (void)do_start(operation)->wait(spi::Deadline::max()); }

std::unique_ptr<spi::PendingOperation> SharedBackend::do_start(const Operation& operation) {
  const std::scoped_lock lock(lock_);
  return std::make_unique<Pending>(lock_, inner().start(operation));
}

std::unique_ptr<spi::PendingOperation> SharedBackend::do_start_group(std::span<const Operation> operations) {
  const std::scoped_lock lock(lock_);
  return std::make_unique<Pending>(lock_, inner().start_group(operations));
}

}  // namespace tutti
