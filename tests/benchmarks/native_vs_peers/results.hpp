#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine.hpp"
#include "peers/contestant.hpp"
#include "peers/workload.hpp"

namespace tutti::bench {

/// The problem of a cell that needs more memory than there is.
inline constexpr std::string_view kDoesNotFit = "does not fit into memory";

/// Result of a contestant in a cell.
struct Sample {
  std::string problem = {};            ///< empty if there was none
  std::vector<double> rounds_us = {};  ///< for each round, the median over the calls
  int calls = 0;                       ///< calls in the last round

  [[nodiscard]] bool ok() const noexcept { return problem.empty() && !rounds_us.empty(); }
  /// Median over the rounds. The sample must be ok().
  [[nodiscard]] double median_us() const;
  /// Speed relative to another sample: the median over the rounds of the ratio within a round, because a disturbance of
  /// the machine slows down both. Both must be ok().
  [[nodiscard]] double speed_against(const Sample& other) const;
  /// Half the interquartile range of the rounds, relative to the median.
  [[nodiscard]] double spread() const;
};

/// An operation at a size on a number of ranks.
struct Cell {
  Workload workload;
  std::vector<Sample> samples;                 ///< in the order of the contestants
  std::vector<double> core_distances_ns = {};  ///< at the beginning of each round; see core_distance_ns()
};

/// A run so far.
struct Results {
  tools::MachineInfo machine;
  std::vector<Contestant> contestants;  ///< the requested ones, including those that are absent
  std::vector<std::string> versions;    ///< reported by the libraries; empty while unknown
  std::vector<Cell> cells;
  double foreign_load = 0;  ///< average number of cores that other programs kept busy
  bool complete = false;

  /// The median of the contestant with that key; nothing if it has no result.
  [[nodiscard]] std::optional<double> median_us(const Cell& cell, std::string_view key) const;
  /// Index of the fastest peer.
  [[nodiscard]] std::optional<std::size_t> best_peer(const Cell& cell) const;
  /// Index of the better of the limits with plain and with streaming stores, and its time.
  [[nodiscard]] std::optional<std::size_t> best_limit(const Cell& cell) const;
  [[nodiscard]] std::optional<double> limit_us(const Cell& cell) const;
  /// Speed of this contestant relative to the best peer.
  [[nodiscard]] std::optional<double> against_best_peer(const Cell& cell, std::string_view key) const;
  /// Speed of this contestant relative to the limit.
  [[nodiscard]] std::optional<double> against_limit(const Cell& cell, std::string_view key) const;
  /// core_distances_ns of all cells.
  [[nodiscard]] std::vector<double> core_distances_ns() const;
  /// The contestant's sample; null if it has no result.
  [[nodiscard]] const Sample* find(const Cell& cell, std::string_view key) const;

 private:
  [[nodiscard]] std::optional<std::size_t> fastest(const Cell& cell, Contestant::Kind kind) const;
};

}  // namespace tutti::bench
