#include "prof/output_options.hpp"

#include "command_line.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr int kLongestName = 100000;

std::vector<profiling::SplitBy> parse_fields(const std::string& text) {
  std::vector<profiling::SplitBy> fields;
  for (const std::string& word : split(text, ',')) {
    const std::optional<profiling::SplitBy> field = profiling::parse_split(word);
    if (!field)
      throw UsageError(concat('"', word, "\" is no field; accepted: op, size, backend, rank, device, caller, region"));
    fields.push_back(*field);
  }
  return fields;
}

}  // namespace

void add_output_options(CLI::App& command, OutputOptions& options) {
  command.add_flag("-j,--json", options.as_json,
                   "Write the tally as one line of JSON: the keys of iprof, and all other tables under the key tutti.");
  command.add_flag("-t,--trace", options.events_as_text,
                   "Write the events as lines of text instead of the tally, in the order of time.");
  command
      .add_option_function<std::string>(
          "-l,--timeline",
          [&options](const std::string& path) { options.timeline = path.empty() ? "out.pftrace" : path; },
          "Write a trace of all events beside the tally, for https://ui.perfetto.dev; a name that ends in .json gives "
          "the format of Chrome. Default: out.pftrace.")
      ->type_name("[PATH]")
      ->expected(0, 1);
  command.add_flag("-e,--extended", options.extended, "A table per host, process, thread and device.");
  add_value(command, "--by", "FIELD,..",
            "Split the operations by op, size, backend, rank, device, caller or region. Default: op,size.",
            [&options](const std::string& text) { options.by = parse_fields(text); });
  command.add_flag("--percentiles", options.percentiles, "Show p50, p90 and p99 beside the averages of operations.");
  command.add_option("--folded", options.folded, "Write folded stacks for flame graphs.")->type_name("FILE");
  command.add_option("--csv", options.csv, "Write all rows as CSV.")->type_name("FILE");
  command.add_flag("--metadata", options.metadata, "List the processes of the session before the tally.");
  add_number(command, "--max-name-size", options.longest_name, -1, kLongestName,
             "Longest name in tables; longer ones are cut in the middle. -1: never. Default: 80.");
  command.add_flag("--old-counts", options.old_counts,
                   "Count hosts, processes, threads and devices of a title each by itself, as iprof before 2024.");
  command.add_flag("--profile,!--no-profile", options.device_profile,
                   "Show the time of device work (default), or leave it out.");
  command.add_option("--analysis-output", options.analysis_output, "Write the tally to this file.")->type_name("FILE");
}

}  // namespace tutti::tools
