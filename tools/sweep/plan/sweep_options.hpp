#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "results/sweep_results.hpp"
#include "sweep/sweep_runner.hpp"

namespace tutti::tools {

/// The command line of `tutti sweep`, the files for its results aside.
struct SweepOptions {
  std::vector<OpKind> ops;
  std::vector<std::string> backends;  ///< empty: all that are usable
  std::vector<std::uint64_t> sizes;
  std::vector<int> ranks;
  std::vector<bool> in_place = {false};
  int runs = 1;
  std::optional<std::uint64_t> seed;       ///< nothing: sizes ascend
  std::optional<double> seconds_per_cell;  ///< nothing: see default_seconds_per_cell()
  std::string resume;                      ///< file with earlier results; empty: none
  std::chrono::nanoseconds soak{};         ///< 0: `runs` rounds
  bool watch = false;
  bool quiet = false;
  SweepSettings settings = {};  ///< of every job; ranks and seconds_per_cell are set for each

  SweepOptions();
};

/// Help texts of the command.
[[nodiscard]] const CommandText& sweep_text();

void add_sweep_options(CLI::App& command, SweepOptions& options);

[[nodiscard]] std::uint64_t random_seed();

/// The options that decide what is measured and how, as "NAME=value" with the names and values of the command line, for
/// the head of the results.
[[nodiscard]] std::vector<std::string> settings_of(const SweepOptions& options);

/// Applies settings from settings_of() as if they were on the command line, except those that are on it. Throws
/// UsageError.
void apply_settings(CLI::App& command, const std::vector<std::string>& settings);

}  // namespace tutti::tools
