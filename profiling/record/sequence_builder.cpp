#include "record/sequence_builder.hpp"

#include <string>

#include "tutti/spi/printable.hpp"

namespace tutti::replay {

namespace {

constexpr std::size_t kDeepest = 16;  ///< repetitions and groups within each other
constexpr std::size_t kMostElements = std::size_t{1} << 28;

void append(const std::vector<float>& values, float fallback, std::vector<float>& list, std::size_t width) {
  if (values.size() == width) {
    list.insert(list.end(), values.begin(), values.end());
  } else {
    list.insert(list.end(), width, values.empty() ? fallback : values.front());
  }
}

}  // namespace

void ElementBudget::spend(std::size_t elements) {
  if (elements > kMostElements - spent_)
    throw LineError("the record is too large: its lists have more than 256 million elements");
  spent_ += elements;
}

void refuse_word(std::string_view word, std::string_view line_kind) {
  throw LineError("unexpected word \"" + spi::printable(word) + "\" in the line \"" + std::string(line_kind) + "\"");
}

void SequenceBuilder::begin(std::size_t places, std::optional<std::uint64_t> expected_events) {
  places_ = places;
  expected_events_ = expected_events;
  lengths_ = {{1, 0}};
}

/// Keeps track of what is open, and of how many events the repetitions make of the few in the file.
void SequenceBuilder::nest(const Event& event) {
  if (event.kind == EventKind::group || event.kind == EventKind::repeat) {
    if (open_.size() == kDeepest)
      throw LineError("repetitions are nested more than " + std::to_string(kDeepest) + " deep");
    open_.push_back(event.kind);
    lengths_.push_back({event.kind == EventKind::repeat ? event.value : 1, 0});
  } else if (event.kind == EventKind::end) {
    if (open_.empty()) throw LineError("\"end\" without \"group\" or \"repeat\"");
    open_.pop_back();
    const auto [times, length] = lengths_.back();
    lengths_.pop_back();
    lengths_.back().second += times * (length + 1);
  } else {
    ++lengths_.back().second;
  }
  if (lengths_.back().second > kMostEventsOfSequence)
    throw LineError("the sequence has more than a billion events");
}

void SequenceBuilder::add(Sequence& sequence, const Event& event, std::optional<std::string_view> word, Words& words) {
  if (is_in_group() && event.kind != EventKind::operation && event.kind != EventKind::end)
    throw LineError("a group contains operations only");
  gaps_.clear();
  times_.clear();
  for (; word; word = words.next()) {
    const bool is_gap = word->starts_with('+');
    std::vector<float>& list = is_gap ? gaps_ : times_;
    if ((!is_gap && !word->starts_with('=')) || !list.empty()) refuse_word(*word, "of an event");
    parse_times(word->substr(1), list);
  }
  for (const std::vector<float>* list : {&gaps_, &times_}) {
    if (list->size() > 1 && list->size() != places_)
      throw LineError(std::to_string(list->size()) + " times are given for " + std::to_string(places_) + " ranks");
    if (list->size() > sequence.width) widen(sequence);
  }
  budget_.spend(2 * sequence.width);
  append(gaps_, 0, sequence.gaps, sequence.width);
  append(times_, kUnknownTime, sequence.times, sequence.width);
  sequence.events.push_back(event);
  nest(event);
}

/// Makes room for a value per rank: the events so far have the same for all.
void SequenceBuilder::widen(Sequence& sequence) {
  budget_.spend(2 * places_ * sequence.events.size());
  for (std::vector<float>* list : {&sequence.gaps, &sequence.times}) {
    std::vector<float> wide;
    wide.reserve(list->size() * places_);
    for (const float value : *list) wide.insert(wide.end(), places_, value);
    *list = std::move(wide);
  }
  sequence.width = places_;
}

void SequenceBuilder::end(Sequence& sequence) {
  if (expected_events_ && *expected_events_ != sequence.events.size())
    throw LineError("the sequence before has " + std::to_string(sequence.events.size()) + " of its " +
                    std::to_string(*expected_events_) + " events: the file is cut off or was changed");
  if (open_.empty()) return;
  if (!is_part_) throw LineError("a group or repetition is not ended");
  // The rank was killed while it started the group.
  while (!open_.empty()) {
    sequence.events.push_back({.kind = EventKind::end});
    sequence.gaps.push_back(0);
    sequence.times.push_back(kUnknownTime);
    open_.pop_back();
  }
}

}  // namespace tutti::replay
