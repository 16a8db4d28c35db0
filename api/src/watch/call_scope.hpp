#pragma once

#include <cstdint>

#include "tutti/spi/call_progress.hpp"

namespace tutti::detail {

/// Shows to other processes that a call is inside a communicator, for as long as it lives; `operation` has its number.
class CallScope {
 public:
  CallScope(spi::CallProgress& progress, const Operation& operation, unsigned flags = 0) noexcept
      : progress_(progress), number_(operation.sequence), is_message_(is_message(operation.kind)) {
    const std::uint64_t words =
        spi::CallProgress::words_of(operation.kind, operation.type, operation.reduction, operation.root, flags);
    if (is_message_) {
      progress_.enter_message(words, operation.count);
    } else {
      progress_.enter_collective(words, operation.count, number_);
    }
  }
  ~CallScope() {
    if (is_message_) {
      progress_.leave_message();
    } else {
      progress_.leave_collective(number_);
    }
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  spi::CallProgress& progress_;
  std::uint64_t number_;
  bool is_message_;
};

}  // namespace tutti::detail
