#include <unistd.h>

#include <limits>

#include "command_line.hpp"
#include "prof/output_options.hpp"
#include "prof/profile_filter.hpp"
#include "prof/profiled_run.hpp"
#include "prof/session_folder.hpp"
#include "prof/session_output.hpp"
#include "sinks/comparison.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr CommandText kText = {
    .name = "tally",
    .summary = "Show profiling sessions that were kept, filter and compare them.",
    .usage = "tutti tally [FOLDER...] [options]",
    .description =
        "Shows a session that tutti prof kept (--trace-output), by default the latest one. Several folders are shown "
        "as one session: those of a job whose hosts share no file system. The session may still be recorded.",
    .footer =
        "Examples:\n"
        "  tutti tally session --by rank,op\n"
        "  tutti tally session --function 'MPI_All*' --min-size 1M --percentiles\n"
        "  tutti tally --compare before after\n"
        "  tutti tally session --timeline out.pftrace --rank 0,1\n"};

struct TallyCommandOptions {
  OutputOptions output;
  ProfileFilter filter;
  std::vector<std::string> folders = {};
  bool compares = false;
};

std::uint64_t parse_size(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) throw UsageError(concat('"', text, "\" is no size; accepted: 512, 64K, 1M, 2G"));
  return *bytes;
}

std::set<int> parse_ranks(const std::string& text) {
  std::set<int> ranks;
  for (const std::string& word : split(text, ',')) {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
      throw UsageError(concat('"', word, "\" is no rank; accepted: ranks with commas"));
    ranks.insert(std::stoi(word));
  }
  return ranks;
}

void add_filter_options(CLI::App& command, ProfileFilter& filter) {
  add_value(command, "--rank", "RANK,..", "Only these ranks.",
            [&filter](const std::string& text) { filter.ranks = parse_ranks(text); });
  command.add_option("--op", filter.operation, "Only calls of operations with this name: 'all*'.")->type_name("GLOB");
  command.add_option("--function", filter.function, "Only functions, kernels and owners with this name: 'MPI_I*'.")
      ->type_name("GLOB");
  command.add_option("--region", filter.region, "Only calls in regions with this name.")->type_name("GLOB");
  add_value(command, "--min-size", "SIZE", "Only operations of at least this size: 64K.",
            [&filter](const std::string& text) { filter.least_bytes = parse_size(text); });
  add_value(command, "--max-size", "SIZE", "Only operations of at most this size.",
            [&filter](const std::string& text) { filter.most_bytes = parse_size(text); });
}

profiling::Profile read_filtered(const std::string& folder, const TallyCommandOptions& options) {
  profiling::Profile profile = read_chosen(folder, options.output, {});
  apply_filter(profile, options.filter);
  return profile;
}

int compare(const TallyCommandOptions& options) {
  if (options.folders.size() != 2)
    throw UsageError(concat("tally: --compare takes two folders, BEFORE and AFTER; ", options.folders.size(),
                            options.folders.size() == 1 ? " was given" : " were given"));
  const profiling::Profile before = read_filtered(options.folders[0], options);
  const profiling::Profile after = read_filtered(options.folders[1], options);
  write_analysis(
      [&](const Terminal& terminal) { return profiling::comparison_text(before, after, looks_of(terminal)); },
      options.output, STDOUT_FILENO);
  write_all(STDERR_FILENO, warning_lines(before) + warning_lines(after));
  return 0;
}

int tally(TallyCommandOptions options) {
  if (options.compares) return compare(options);
  if (options.folders.empty()) options.folders.push_back(latest_session());
  profiling::Profile profile = read_filtered(options.folders.front(), options);
  for (std::size_t i = 1; i < options.folders.size(); ++i)
    append_profile(profile, read_filtered(options.folders[i], options));
  if (profile.rows.empty() && profile.memory.empty() && !options.output.as_json) {
    write_result(options.filter.is_empty() ? "The session holds no calls.\n" : "The filter leaves out everything.\n");
  } else {
    write_session(profile, options.output, STDOUT_FILENO);
  }
  write_all(STDERR_FILENO, write_files(profile, options.output) + warning_lines(profile));
  return 0;
}

}  // namespace

void add_tally_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  const auto options = std::make_shared<TallyCommandOptions>();
  command.add_option("FOLDER", options->folders, "Folder of a session. Default: the latest one that was kept.");
  add_output_options(command, options->output);
  add_filter_options(command, options->filter);
  command.add_flag("--compare", options->compares, "Compare two sessions: the folders are BEFORE and AFTER.");
  command.callback([&invocation, options] { invocation.exit_code = tally(*options); });
}

}  // namespace tutti::tools
