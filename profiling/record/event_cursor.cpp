#include "record/event_cursor.hpp"

#include <algorithm>

namespace tutti::replay {

EventCursor::EventCursor(const Sequence& sequence) : sequence_(sequence), is_repeat_end_(sequence.events.size()) {
  std::vector<std::size_t> open;  // places in repeats_, or none for a group
  for (std::size_t i = 0; i < sequence.events.size(); ++i) {
    const EventKind kind = sequence.events[i].kind;
    if (kind == EventKind::repeat) {
      open.push_back(repeats_.size());
      repeats_.push_back(i);
      end_of_.push_back(i);
    } else if (kind == EventKind::group) {
      open.push_back(SIZE_MAX);
    } else if (kind == EventKind::end) {
      if (open.back() != SIZE_MAX) {
        end_of_[open.back()] = i;
        is_repeat_end_[i] = true;
      }
      open.pop_back();
    }
  }
  settle();
}

void EventCursor::settle() {
  while (!at_end()) {
    if (event().kind == EventKind::repeat) {
      const auto place = std::ranges::lower_bound(repeats_, next_) - repeats_.begin();
      const std::size_t end = end_of_[static_cast<std::size_t>(place)];
      // Without a body there is nothing to repeat.
      if (event().value == 0 || end == next_ + 1) {
        next_ = end + 1;
      } else {
        loops_.push_back({next_ + 1, event().value - 1});
        ++next_;
      }
    } else if (is_repeat_end_[next_]) {
      Loop& loop = loops_.back();
      if (loop.left == 0) {
        loops_.pop_back();
        ++next_;
      } else {
        --loop.left;
        next_ = loop.begin;
      }
    } else {
      return;
    }
  }
}

}  // namespace tutti::replay
