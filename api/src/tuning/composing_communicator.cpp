#include "tuning/composing_communicator.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "tuning/composed_steps.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti {
namespace {

/// Between two looks at the sequences that come before.
constexpr std::chrono::microseconds kBetweenLooks{50};

/// Names the operation that was asked for in an error of one of its parts.
Error error_of_whole(const Operation& whole, Composition composition, const Error& error) {
  return {error.code(),
          describe(whole) + ", carried out as " + std::string(traits(composition).description) + ": " + error.what(),
          error.backend(), error.vendor_code()};
}

}  // namespace

/// Operations of which each begins when the one before is complete, or a group of them.
class ComposingCommunicator::Sequence final : public spi::PendingOperation {
 public:
  /// `composition`: of `operation`, or none where the steps stand for themselves.
  Sequence(ComposingCommunicator& whole, std::vector<Operation> steps, bool as_group, const Operation& operation,
           Composition composition)
      : whole_(whole), steps_(std::move(steps)), as_group_(as_group), operation_(operation), composition_(composition) {
    whole_.beginning_.push_back(this);
    whole_.advance();
  }
  ~Sequence() override { std::erase(whole_.beginning_, this); }

  /// Begins parts as far as possible; true if there is none left to begin.
  bool begin_parts() noexcept {
    try {
      while (next_ < steps_.size()) {
        if (!is_current_complete()) return false;
        current_ = as_group_ ? whole_.inner().start_group(steps_) : whole_.inner().start(steps_[next_]);
        is_complete_ = false;
        next_ = as_group_ ? steps_.size() : next_ + 1;
      }
    } catch (...) {
      keep_error();
    }
    return true;
  }

 private:
  /// How long a part is waited for before the other sequences are looked at.
  static constexpr std::chrono::microseconds kSlice{50};

  bool do_poll() override {
    whole_.advance();
    if (error_ == nullptr && next_ == steps_.size()) {
      try {
        return is_current_complete();
      } catch (...) {
        keep_error();
      }
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
    return false;
  }

  bool do_wait(spi::Deadline until) override {
    while (!do_poll()) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= until) return false;
      if (current_ == nullptr) {
        std::this_thread::sleep_for(kSlice);
        continue;
      }
      try {
        if (!is_complete_) is_complete_ = current_->wait(std::min(until, now + kSlice));
      } catch (...) {
        keep_error();
      }
    }
    return true;
  }

  [[nodiscard]] bool is_current_complete() {
    if (current_ != nullptr && !is_complete_) is_complete_ = current_->poll();
    return is_complete_;
  }
  /// In a handler.
  void keep_error() noexcept {
    next_ = steps_.size();
    error_ = std::current_exception();
    if (composition_ == Composition::none) return;
    try {
      throw;
    } catch (const Error& error) {
      error_ = std::make_exception_ptr(error_of_whole(operation_, composition_, error));
    } catch (...) {
    }
  }

  ComposingCommunicator& whole_;
  std::vector<Operation> steps_;
  bool as_group_;
  Operation operation_;
  Composition composition_;
  std::size_t next_ = 0;                            ///< first part that has not begun
  std::unique_ptr<spi::PendingOperation> current_;  ///< the last part that has begun
  bool is_complete_ = true;                         ///< that part, or there is none
  std::exception_ptr error_;
};

std::vector<Operation> ComposingCommunicator::steps_of(const Operation& operation) const {
  return composed_steps(plan_->composition_of(operation), operation, rank_, size_);
}

void ComposingCommunicator::advance() {
  while (!beginning_.empty() && beginning_.front()->begin_parts()) beginning_.pop_front();
}

void ComposingCommunicator::begin_all() {
  for (advance(); !beginning_.empty(); advance()) std::this_thread::sleep_for(kBetweenLooks);
}

void ComposingCommunicator::do_run(const Operation& operation) {
  if (!beginning_.empty() && !is_message(operation.kind)) begin_all();
  const Composition composition = plan_->composition_of(operation);
  if (composition == Composition::none) return inner().run(operation);
  try {
    for (const Operation& step : composed_steps(composition, operation, rank_, size_)) inner().run(step);
  } catch (const Error& error) {
    throw error_of_whole(operation, composition, error);
  }
}

std::unique_ptr<spi::PendingOperation> ComposingCommunicator::in_turn(const Operation& operation,
                                                                      std::vector<Operation> steps, bool as_group) {
  if (operation.stream.is_host()) {
    const Composition composition = as_group ? Composition::none : plan_->composition_of(operation);
    return std::make_unique<Sequence>(*this, std::move(steps), as_group, operation, composition);
  }
  begin_all();  // the caller enqueues more work on the stream as soon as this returns
  if (as_group) return inner().start_group(steps);
  std::vector<std::unique_ptr<spi::PendingOperation>> pending;
  for (const Operation& step : steps) pending.push_back(inner().start(step));
  return std::make_unique<spi::PendingGroup>(std::move(pending));
}

std::unique_ptr<spi::PendingOperation> ComposingCommunicator::do_start(const Operation& operation) {
  if (is_message(operation.kind)) return inner().start(operation);
  advance();
  std::vector<Operation> steps = steps_of(operation);
  if (steps.size() == 1 && beginning_.empty()) return inner().start(steps.front());
  return in_turn(operation, std::move(steps), false);
}

std::unique_ptr<spi::PendingOperation> ComposingCommunicator::do_start_group(std::span<const Operation> operations) {
  advance();
  std::vector<Operation> messages;
  std::vector<Operation> whole;
  std::vector<std::pair<Operation, std::vector<Operation>>> composed;
  for (const Operation& operation : operations) {
    std::vector<Operation> steps = steps_of(operation);
    if (is_message(operation.kind)) {
      messages.push_back(operation);
    } else if (steps.size() == 1) {
      whole.push_back(steps.front());
    } else {
      composed.emplace_back(operation, std::move(steps));
    }
  }
  if (composed.empty() && beginning_.empty()) return inner().start_group(operations);
  std::vector<std::unique_ptr<spi::PendingOperation>> pending;
  if (!messages.empty()) pending.push_back(inner().start_group(messages));
  if (!whole.empty()) {
    const Operation first = whole.front();
    pending.push_back(in_turn(first, std::move(whole), true));
  }
  for (auto& [operation, steps] : composed) pending.push_back(in_turn(operation, std::move(steps), false));
  return std::make_unique<spi::PendingGroup>(std::move(pending));
}

}  // namespace tutti
