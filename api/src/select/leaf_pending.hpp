#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "tutti/spi/backend.hpp"

namespace tutti::spi {

/// An operation of a leaf. It may be brought to its end by a wait for another operation; the outcome is then kept.
class LeafPending final : public PendingOperation {
 public:
  /// `all`: the pending operations of all leaves, in the order of the calls.
  LeafPending(std::unique_ptr<PendingOperation> operation, std::vector<LeafPending*>& all)
      : operation_(std::move(operation)), all_(all) {
    all_.push_back(this);
  }
  ~LeafPending() override { std::erase(all_, this); }

  void poll_itself() noexcept {
    if (!is_done_) attempt([this] { return operation_->poll(); });
  }

 private:
  /// How long one leaf is waited for before the pending operations of the others are looked at.
  static constexpr std::chrono::microseconds kSlice{50};

  bool do_poll() override {
    poll_others();
    poll_itself();
    return outcome();
  }

  bool do_wait(Deadline until) override {
    while (!is_done_ && all_.size() > 1) {
      const Deadline slice = std::min(until, std::chrono::steady_clock::now() + kSlice);
      attempt([&] { return operation_->wait(slice); });
      poll_others();
      if (!is_done_ && std::chrono::steady_clock::now() >= until) return false;
    }
    if (!is_done_) attempt([&] { return operation_->wait(until); });
    return outcome();
  }

  template <typename Step>
  void attempt(const Step& step) noexcept {
    try {
      is_done_ = step();
    } catch (...) {
      is_done_ = true;
      error_ = std::current_exception();
    }
  }
  void poll_others() noexcept {
    for (LeafPending* other : all_) {
      if (other != this) other->poll_itself();
    }
  }
  [[nodiscard]] bool outcome() {
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return is_done_;
  }

  std::unique_ptr<PendingOperation> operation_;
  std::vector<LeafPending*>& all_;
  bool is_done_ = false;
  std::exception_ptr error_;
};

}  // namespace tutti::spi
