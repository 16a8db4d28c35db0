#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "record/record.hpp"
#include "record/record_text.hpp"

namespace tutti::replay {

inline constexpr std::uint64_t kMostEventsOfSequence = 1'000'000'000;

/// Bounds the memory that a small file can ask for.
class ElementBudget {
 public:
  /// Throws LineError when the lists of the record have too many elements.
  void spend(std::size_t elements);

 private:
  std::size_t spent_ = 0;
};

/// Adds the events of a record's lines to a sequence, and checks how they are nested.
class SequenceBuilder {
 public:
  /// `budget` must outlive the builder. `is_part`: of a part, groups that a killed rank left open are ended.
  SequenceBuilder(ElementBudget& budget, bool is_part) noexcept : budget_(budget), is_part_(is_part) {}

  /// Begins a sequence of `places` ranks; with `expected_events`, end() compares their number.
  void begin(std::size_t places, std::optional<std::uint64_t> expected_events);
  [[nodiscard]] bool is_in_group() const noexcept { return !open_.empty() && open_.back() == EventKind::group; }
  /// Reads gaps and times from `word` and the rest of the line. Throws LineError, as all functions here.
  void add(Sequence& sequence, const Event& event, std::optional<std::string_view> word, Words& words);
  void end(Sequence& sequence);

 private:
  void nest(const Event& event);
  void widen(Sequence& sequence);

  ElementBudget& budget_;
  bool is_part_;
  std::optional<std::uint64_t> expected_events_;
  std::size_t places_ = 1;  ///< ranks of the sequence
  std::vector<EventKind> open_;
  /// Repetitions and events within them, of the sequence and of all that is open.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lengths_ = {{1, 0}};
  std::vector<float> gaps_, times_;  ///< of the line
};

/// Throws LineError for a word that a line of this kind does not have.
[[noreturn]] void refuse_word(std::string_view word, std::string_view line_kind);

}  // namespace tutti::replay
