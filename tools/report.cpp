#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "command_line.hpp"
#include "report/change_tables.hpp"
#include "report/full_report.hpp"
#include "report/html/html_report.hpp"
#include "report/imported_table.hpp"
#include "results/results_json.hpp"
#include "text/output_file.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr CommandText kText = {
    .name = "report",
    .summary = "Show and compare results of tutti sweep.",
    .usage = "tutti report A.json [B.json ...] [options]",
    .description =
        "Shows results that tutti sweep --json wrote: the fastest backend at each size, calls, times and bytes side by "
        "side in the units of iprof, performance guidelines that a library breaks, scaling when there are several "
        "numbers of ranks, and failures. Further files (another machine, another version) are compared with the first "
        "one, and changes beyond the noise are marked.",
    .footer =
        "Exit codes:\n"
        "  0  the report was written\n"
        "  1  a regression was found, or a file cannot be read or written\n"
        "  2  invalid command line\n"
        "\nExamples:\n"
        "  tutti report sweep.json --baseline mpi\n"
        "  tutti report before.json after.json --fail-on-regression 10%\n"
        "  tutti report sweep.json --html sweep.html\n"
        "  tutti report sweep.json --import old.md --format markdown -o comparison.md\n"};

struct ReportOptions {
  std::vector<std::string> files = {};
  std::vector<std::string> imports = {};
  std::string baseline = {};
  ReportFormat format = ReportFormat::text;
  std::optional<double> regression_share = {};
  std::vector<std::string> outputs = {};  ///< by row of kOutputs; empty: not asked for
};

/// A file that the command writes on request.
struct Output {
  const char* names;
  const char* help;
  std::string (*content)(const ReportInput& input, const ReportOptions& options);
};

std::string report_text(const ReportInput& input, const ReportOptions& options) {
  constexpr int kNoTerminal = -1;
  return full_report(input, options.format, Terminal(kNoTerminal));
}

std::string report_html(const ReportInput& input, const ReportOptions& options) {
  return to_html(input.files, {.baseline = options.baseline});
}

/// Nothing is printed when one of them is asked for.
constexpr std::array kOutputs = {
    Output{"-o,--output", "Write the report to this file instead of printing it.", &report_text},
    Output{"--html", "Write a page with plots and tables, which needs no other file, instead of printing.",
           &report_html},
};

constexpr std::size_t kHtml = 1;  ///< its row in kOutputs

ReportFormat parse_format(const std::string& text) {
  if (const auto format = parse_report_format(text)) return *format;
  throw UsageError(concat("unknown format \"", text, "\"; accepted: text, markdown, csv"));
}

/// "10%", "2.5 %" or "10": a share of 0 or more.
double parse_share(const std::string& text) {
  std::string_view number = trim(text);
  if (number.ends_with('%')) number = trim(number.substr(0, number.size() - 1));
  double percent = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), percent, std::chars_format::fixed);
  const bool is_whole = error == std::errc() && end == number.data() + number.size();
  if (!is_whole || !std::isfinite(percent) || std::signbit(percent))
    throw UsageError(concat('"', text, "\" is no percentage of 0 or more; accepted: 10%, 2.5%"));
  return percent / 100;
}

std::string existing_text(const std::string& text) {
  if (text.empty() || std::filesystem::is_directory(text))
    throw UsageError(concat('"', text, "\" is empty or a folder; give the path of a file"));
  return text;
}

/// Name of the file without folder and ending, or the whole path where two files have the same.
std::string name_of(const std::string& path, const std::vector<std::string>& all) {
  const auto stem = [](const std::string& file) { return std::filesystem::path(file).stem().string(); };
  const auto same = std::ranges::count(all, stem(path), stem);
  return same > 1 ? path : stem(path);
}

std::vector<NamedResults> read_files(const std::vector<std::string>& paths) {
  std::vector<NamedResults> files;
  for (const std::string& path : paths) {
    files.push_back({.name = name_of(path, paths), .results = read_results(existing_text(path))});
    if (files.back().results.rows.empty())
      throw Error(ErrorCode::config, concat(path, ": holds no rows; the sweep that wrote it measured nothing"));
  }
  if (files.size() > 1) check_common_cells(files);
  return files;
}

void check_baseline(const std::string& baseline, const std::vector<NamedResults>& files) {
  if (baseline.empty()) return;
  std::vector<std::string> known;
  for (const NamedResults& file : files) {
    for (const SweepRow& row : file.results.rows) {
      if (row.backend == baseline) return;
      if (std::ranges::find(known, row.backend) == known.end()) known.push_back(row.backend);
    }
  }
  throw UsageError(concat("--baseline: no file has backend \"", baseline, "\"; accepted: ", join(known, ", ")));
}

void check(const ReportOptions& options) {
  if (options.files.empty() && options.imports.empty())
    throw UsageError("report: no file is given; give results that tutti sweep --json wrote, or --import FILE");
  if (options.files.empty() && !options.outputs[kHtml].empty())
    throw UsageError("--html shows results of tutti sweep; give at least one file that tutti sweep --json wrote");
  if (options.regression_share && options.files.size() < 2) {
    throw UsageError(concat("--fail-on-regression compares two files or more, BEFORE and AFTER; ", options.files.size(),
                            options.files.size() == 1 ? " was given" : " were given"));
  }
}

int report(const ReportOptions& options) {
  check(options);
  ReportInput input{
      .files = read_files(options.files), .baseline = options.baseline, .regression_share = options.regression_share};
  check_baseline(options.baseline, input.files);
  for (const std::string& path : options.imports) input.imported.push_back(read_imported_table(path));

  const bool is_printed = std::ranges::all_of(options.outputs, &std::string::empty);
  if (is_printed) write_result(full_report(input, options.format, Terminal(STDOUT_FILENO)));
  for (std::size_t i = 0; i < kOutputs.size(); ++i) {
    if (!options.outputs[i].empty()) write_file_atomically(options.outputs[i], kOutputs[i].content(input, options));
  }
  const std::vector<std::string> regressions = regression_lines(input);
  if (regressions.empty()) return 0;
  std::string text =
      concat("tutti: report: ", regressions.size(), regressions.size() == 1 ? " regression:\n" : " regressions:\n");
  for (const std::string& line : regressions) text += concat("  ", printable(line, std::string::npos), '\n');
  write_all(STDERR_FILENO, text);
  return kExitFailure;
}

}  // namespace

void add_report_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  const auto options = std::make_shared<ReportOptions>();
  options->outputs.resize(kOutputs.size());
  command
      .add_option("FILE", options->files,
                  "Results that tutti sweep --json wrote; the further ones are compared with the first.")
      ->type_name("...");
  add_value(command, "--format", "FORMAT", "text, markdown or csv. Default: text.",
            [options](const std::string& text) { options->format = parse_format(text); });
  add_value(command, "--baseline", "BACKEND", "Show the speed-up of the other backends against this one.",
            [options](const std::string& text) { options->baseline = text; });
  add_value(command, "--import", "FILE",
            "Also show a comparison table in Markdown that was made by hand of iprof's output, and name the cells that "
            "look wrong. May be given several times.",
            [options](const std::string& text) { options->imports.push_back(existing_text(text)); });
  add_value(command, "--fail-on-regression", "PERCENT",
            "Exit with 1 when a cell of a later file is slower by more than this and beyond the noise, or fails.",
            [options](const std::string& text) { options->regression_share = parse_share(text); });
  for (std::size_t i = 0; i < kOutputs.size(); ++i) {
    add_value(command, kOutputs[i].names, "FILE", kOutputs[i].help,
              [options, i](const std::string& text) { options->outputs[i] = existing_text(text); });
  }
  command.callback([&invocation, options] { invocation.exit_code = report(*options); });
}

}  // namespace tutti::tools
