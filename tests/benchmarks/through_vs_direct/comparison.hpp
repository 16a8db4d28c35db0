#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native_vs_peers/results.hpp"
#include "text/terminal.hpp"

namespace tutti::bench {

/// A library at one size: called directly, and through tutti.
struct Comparison {
  std::string library;  ///< key of the contestant
  std::uint64_t bytes = 0;
  Sample direct = {};
  Sample through = {};

  enum class State : std::uint8_t { met, within_spread, missed, failed };

  /// The lowest accepted ratio(): tutti's own part counts more in short calls.
  [[nodiscard]] double target() const noexcept;
  /// Direct time divided by the time through tutti, the median over the rounds. Both samples must be ok().
  [[nodiscard]] double ratio() const { return through.speed_against(direct); }
  /// `within_spread`: missed, but the spread of the two samples could explain it.
  [[nodiscard]] State state() const;
  /// The problem of either sample; empty if there was none.
  [[nodiscard]] std::string problem() const;
};

[[nodiscard]] std::string name(Comparison::State state);

/// Whether all comparisons are met or within the spread; false if there is none.
[[nodiscard]] bool passes(const std::vector<Comparison>& comparisons);

/// A row per comparison, then the problems.
[[nodiscard]] std::string table(const std::vector<Comparison>& comparisons, const tools::Terminal& terminal);

/// All results, including those of each round, and the contestants that could not be measured.
[[nodiscard]] std::string to_json(const std::vector<Contestant>& contestants,
                                  const std::vector<Comparison>& comparisons);

}  // namespace tutti::bench
