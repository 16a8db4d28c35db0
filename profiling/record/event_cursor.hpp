#pragma once

#include <cstdint>
#include <vector>

#include "record/record.hpp"

namespace tutti::replay {

/// Walks through the events of a sequence as they happen: repetitions are carried out, their begin and end are not
/// shown. The sequence must outlive it.
class EventCursor {
 public:
  explicit EventCursor(const Sequence& sequence);

  [[nodiscard]] bool at_end() const noexcept { return next_ == sequence_.events.size(); }
  [[nodiscard]] const Event& event() const noexcept { return sequence_.events[next_]; }
  /// Of the event, in Sequence::events.
  [[nodiscard]] std::size_t index() const noexcept { return next_; }
  void advance() {
    ++next_;
    settle();
  }

 private:
  struct Loop {
    std::size_t begin;
    std::uint32_t left;
  };
  void settle();

  const Sequence& sequence_;
  std::vector<std::size_t> end_of_;   ///< by number of the `repeat`, in order
  std::vector<std::size_t> repeats_;  ///< their events
  std::size_t next_ = 0;
  std::vector<Loop> loops_;
  std::vector<bool> is_repeat_end_;
};

}  // namespace tutti::replay
