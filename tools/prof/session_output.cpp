#include "prof/session_output.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "sinks/tally/tally_text.hpp"
#include "sinks/timeline/timeline.hpp"
#include "text/output_file.hpp"
#include "text/report.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

using profiling::Kind;
using profiling::Profile;

bool has_operations(const Profile& profile) {
  return std::ranges::any_of(profile.rows, [](const auto& row) { return row.kind == Kind::operation; });
}

bool has_several_ranks(const Profile& profile) {
  std::set<int> ranks;
  for (const auto& row : profile.rows) {
    if (row.kind == Kind::operation && row.process >= 0)
      ranks.insert(profile.processes[static_cast<std::size_t>(row.process)].rank);
  }
  return ranks.size() > 1;
}

void add_section(std::string& text, const std::string& section) {
  if (section.empty()) return;
  if (!text.empty() && !text.ends_with("\n\n")) text += '\n';
  text += section;
  if (!text.ends_with('\n')) text += '\n';
}

/// Calls `write` with a sink for the file; returns the line about it.
std::string write_file(const std::string& path, const char* what, const std::function<void(OutputFile&)>& write) {
  try {
    OutputFile file(path);
    write(file);
    file.finish();
    return concat("tutti: ", what, " written to ", path, '\n');
  } catch (const std::exception& error) {
    return concat("tutti: ", what, " not written: ", error.what(), '\n');
  }
}

}  // namespace

profiling::TextOptions looks_of(const Terminal& terminal) {
  return {.width = terminal.columns(), .colour = terminal.bold("") != ""};
}

std::string session_text(const Profile& profile, const OutputOptions& options, const Terminal& terminal) {
  if (options.events_as_text) return events_text(profile);
  const profiling::TallyOptions tally{
      .longest_name = options.longest_name,
      .extended = options.extended,
      .counts = options.old_counts ? profiling::TitleCounts::distinct : profiling::TitleCounts::tuples};
  const std::vector<profiling::SplitBy> by = options.by.empty() ? profiling::BreakdownOptions{}.by : options.by;
  if (options.as_json) return profiling::session_json(profile, tally, by);
  const profiling::TextOptions looks = looks_of(terminal);
  std::string text;
  if (options.metadata) add_section(text, metadata_text(profile, terminal));
  add_section(text, profiling::tally_text(profile, tally));
  const bool operations = has_operations(profile);
  if (operations || !options.by.empty()) {
    add_section(text, profiling::breakdown_text(profile, {.by = by, .percentiles = options.percentiles}, looks));
  }
  if (operations && has_several_ranks(profile)) add_section(text, profiling::arrivals_text(profile, looks));
  if (!profile.memory.empty()) add_section(text, profiling::memory_text(profile, looks));
  add_section(text, profiling::cost_text(profile, looks));
  return text;
}

std::string warning_lines(const Profile& profile) {
  std::string text;
  for (const std::string& warning : profile.warnings) text += concat("tutti: ", warning, '\n');
  return text;
}

std::string write_files(const Profile& profile, const OutputOptions& options) {
  std::string lines;
  if (options.timeline) {
    lines += write_file(*options.timeline, "timeline", [&](OutputFile& file) {
      const profiling::ByteSink sink = [&](std::string_view bytes) { file.append(bytes); };
      if (options.timeline->ends_with(".json")) {
        profiling::write_chrome_json(profile, sink);
      } else {
        profiling::write_perfetto(profile, sink);
      }
    });
  }
  if (!options.folded.empty()) {
    lines += write_file(options.folded, "folded stacks", [&](OutputFile& file) {
      profiling::write_folded(profile, [&](std::string_view bytes) { file.append(bytes); });
    });
  }
  if (!options.csv.empty()) {
    lines += write_file(options.csv, "CSV", [&](OutputFile& file) { file.append(profiling::rows_csv(profile)); });
  }
  return lines;
}

std::string metadata_text(const Profile& profile, const Terminal& terminal) {
  Report report(terminal, terminal.columns());
  Table table({{"rank", Align::right},
               {"host"},
               {"pid", Align::right},
               {"records", Align::right},
               {"dropped", Align::right},
               {"memory", Align::right},
               {"end"},
               {"command"}});
  for (const auto& process : profile.processes) {
    table.add({process.rank < 0 ? "-" : std::to_string(process.rank), process.host, std::to_string(process.pid),
               std::to_string(process.records), std::to_string(process.dropped),
               process.resident_peak == 0 ? "-" : format_bytes_rounded(process.resident_peak),
               process.ended ? "in order" : "early", printable(process.command)});
  }
  report.heading("Processes of the session");
  report.add(table);
  return report.text();
}

}  // namespace tutti::tools
