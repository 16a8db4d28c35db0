#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sinks/breakdown.hpp"

namespace tutti::tools {

/// Choices for the output of a session, common to `tutti prof` and `tutti tally`.
struct OutputOptions {
  bool as_json = false;
  bool events_as_text = false;
  bool metadata = false;
  bool extended = false;
  bool old_counts = false;
  bool device_profile = true;
  bool analysis = true;
  int longest_name = 80;
  std::vector<profiling::SplitBy> by = {};
  bool percentiles = false;
  std::optional<std::string> timeline = {};
  std::string folded = {};
  std::string csv = {};
  std::string analysis_output = {};  ///< empty: standard error for `tutti prof`, standard output for `tutti tally`

  /// Whether the session must hold single events of all kinds.
  [[nodiscard]] bool needs_events() const noexcept { return events_as_text || timeline.has_value(); }
};

void add_output_options(CLI::App& command, OutputOptions& options);

}  // namespace tutti::tools
