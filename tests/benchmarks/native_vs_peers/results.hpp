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

/// What a contestant did in a cell.
struct Sample {
  std::string problem = {};            ///< empty when all went well
  std::vector<double> rounds_us = {};  ///< per round the median over the calls
  int calls = 0;                       ///< per round, in the last one

  [[nodiscard]] bool ok() const noexcept { return problem.empty() && !rounds_us.empty(); }
  /// Over the rounds. The sample must be ok().
  [[nodiscard]] double median_us() const;
  /// How many times as fast as another one: the median over the rounds of the ratio within a round. What slows the
  /// machine down for a while slows both. Both must be ok().
  [[nodiscard]] double speed_against(const Sample& other) const;
  /// Half the distance between the quartiles of the rounds, of the median.
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
  std::vector<Contestant> contestants;  ///< those that were asked for, also the absent ones
  std::vector<std::string> versions;    ///< as the libraries say; empty while unknown
  std::vector<Cell> cells;
  double foreign_load = 0;  ///< cores that other programs kept busy meanwhile, on average
  bool complete = false;

  /// The median of the contestant with that key; nothing when there is none.
  [[nodiscard]] std::optional<double> median_us(const Cell& cell, std::string_view key) const;
  /// Index of the fastest peer.
  [[nodiscard]] std::optional<std::size_t> best_peer(const Cell& cell) const;
  /// The better of plain and streaming stores.
  [[nodiscard]] std::optional<double> limit_us(const Cell& cell) const;
  /// How many times as fast as the best peer this contestant is.
  [[nodiscard]] std::optional<double> against_best_peer(const Cell& cell, std::string_view key) const;
  /// Which part of the speed of the limit this contestant reaches.
  [[nodiscard]] std::optional<double> against_limit(const Cell& cell, std::string_view key) const;
  [[nodiscard]] const Sample* find(const Cell& cell, std::string_view key) const;

 private:
  [[nodiscard]] std::optional<std::size_t> fastest(const Cell& cell, Contestant::Kind kind) const;
};

}  // namespace tutti::bench
