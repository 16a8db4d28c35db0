#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "tutti/spi/backend.hpp"

namespace tutti::spi {

class LeafPending;

/// The pending operations of all leaves, in the order of the calls.
class PendingList {
 public:
  PendingList() = default;
  virtual ~PendingList() = default;
  PendingList(const PendingList&) = delete;
  PendingList& operator=(const PendingList&) = delete;

  [[nodiscard]] const std::vector<LeafPending*>& all() const noexcept { return all_; }
  void add(LeafPending* operation) {
    all_.push_back(operation);
    changed();
  }
  void remove(LeafPending* operation) noexcept {
    std::erase(all_, operation);
    changed();
  }

 private:
  virtual void changed() noexcept = 0;

  std::vector<LeafPending*> all_;
};

/// An operation of a leaf. It may be brought to its end by a wait for another operation; the outcome is then kept.
class LeafPending final : public PendingOperation {
 public:
  LeafPending(std::unique_ptr<PendingOperation> operation, const BackendCommunicator& leaf, PendingList& list)
      : operation_(std::move(operation)), leaf_(leaf), list_(list) {
    list_.add(this);
  }
  ~LeafPending() override { list_.remove(this); }

  [[nodiscard]] const BackendCommunicator& leaf() const noexcept { return leaf_; }

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
    while (!is_done_ && list_.all().size() > 1) {
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
    for (LeafPending* other : list_.all()) {
      if (other != this) other->poll_itself();
    }
  }
  [[nodiscard]] bool outcome() {
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return is_done_;
  }

  std::unique_ptr<PendingOperation> operation_;
  const BackendCommunicator& leaf_;
  PendingList& list_;
  bool is_done_ = false;
  std::exception_ptr error_;
};

}  // namespace tutti::spi
