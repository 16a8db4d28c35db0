#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "tutti/error.hpp"

namespace tutti::spi {

/// The first error of a communicator. From then on every call fails with the same code. Thread-safe.
class FirstFailure {
 public:
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_.load(std::memory_order_acquire); }

  /// Keeps `cause` unless there is an error already; returns whether it did.
  bool keep(const Error& cause) noexcept {
    const std::scoped_lock lock(mutex_);
    if (error_) return false;
    error_ = cause;
    has_failed_.store(true, std::memory_order_release);
    return true;
  }

  /// Throws the first error with `where` before its text. To be called only when has_failed().
  [[noreturn]] void rethrow(const std::string& where) const {
    const std::scoped_lock lock(mutex_);
    throw Error(error_->code(), where + ": " + error_->what(), error_->backend(), error_->vendor_code());
  }

 private:
  std::atomic<bool> has_failed_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace tutti::spi
