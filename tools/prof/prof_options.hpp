#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "prof/output_options.hpp"
#include "prof/source_table.hpp"

namespace tutti::tools {

/// Choices of `tutti prof`.
struct ProfOptions {
  OutputOptions output;
  std::string mode = "standard";  ///< as the recorder calls it
  std::vector<ChosenSource> sources = {};
  std::string traced_ranks = {};  ///< "0,3"; empty: all
  std::string memory_limit = {};
  bool paused = false;
  bool device_times = false;
  std::string trace_output = {};
  std::optional<std::chrono::nanoseconds> every = {};
  std::chrono::nanoseconds patience = std::chrono::seconds(60);
  std::optional<std::string> replay = {};
  std::vector<std::string> control = {};  ///< request, and the session that it is for

  /// Whether the session stays after the tally.
  [[nodiscard]] bool keeps_session() const noexcept {
    return !trace_output.empty() || output.events_as_text || !output.analysis;
  }
};

void add_prof_options(CLI::App& command, ProfOptions& options);

}  // namespace tutti::tools
