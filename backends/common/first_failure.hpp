#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "tutti/error.hpp"

namespace tutti::common {

/// What a communicator failed with first. From then on it only fails, with the same code. Thread-safe.
class FirstFailure {
 public:
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_.load(std::memory_order_acquire); }

  /// Keeps `cause` unless there is one already; whether it did.
  bool keep(const Error& cause) noexcept {
    const std::scoped_lock lock(mutex_);
    if (error_) return false;
    error_ = cause;
    has_failed_.store(true, std::memory_order_release);
    return true;
  }

  /// Throws it once more, as what `where` fails with as well. To be called when has_failed().
  [[noreturn]] void rethrow(const std::string& where) const {
    const std::scoped_lock lock(mutex_);
    throw Error(error_->code(), where + ": " + error_->what(), error_->backend(), error_->vendor_code());
  }

 private:
  std::atomic<bool> has_failed_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace tutti::common
