#include "sweep/sweep_outputs.hpp"

#include <filesystem>

#include "report/comparison_table.hpp"
#include "report/html/html_report.hpp"
#include "results/results_csv.hpp"
#include "results/results_json.hpp"
#include "text/text.hpp"
#include "tuning/tuning_builder.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

std::string check_path(const std::string& text) {
  if (text.empty() || std::filesystem::is_directory(text))
    throw UsageError(concat('"', printable(text), "\" is empty or a folder; give the path of a file"));
  return text;
}

}  // namespace

std::vector<SweepOutput> sweep_outputs() {
  using Results = const SweepResults&;
  using Screen = const Terminal&;
  return {
      {"--json", "Also write the results to this file as JSON.", [](Results all, Screen) { return to_json(all); }},
      {"--csv", "Also write the results to this file as CSV.", [](Results all, Screen) { return to_csv(all); }},
      {"--html", "Also write a page with plots and tables to this file; it needs no other file.",
       [](Results all, Screen) {
         const NamedResults named{all.head.begun, all};
         return to_html({&named, 1}, {});
       }},
      {"--save-tuning", "Also write a tuning file, which lets the backend auto choose by these results.",
       [](Results all, Screen) { return tuning_text(all); }},
      {"--compare", "Also print calls, times and bytes of the counted calls side by side, in the units of iprof.",
       [](Results all, Screen screen) { return comparison_text(all, ReportFormat::text, screen); }, false},
  };
}

void SweepOutputs::add_options(CLI::App& command) {
  for (const SweepOutput& output : outputs_) {
    if (output.is_file) {
      add_value(command, output.option, "FILE", output.help,
                [this, &output](const std::string& text) { set_file(output.option, text); });
    } else {
      command.add_flag_callback(
          output.option, [this, &output] { values_[output.option]; }, output.help);
    }
  }
}

std::string SweepOutputs::file(const std::string& option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::string() : found->second;
}

void SweepOutputs::set_file(const std::string& option, const std::string& path) { values_[option] = check_path(path); }

void SweepOutputs::open() {
  for (const SweepOutput& output : outputs_) {
    if (!output.is_file || !is_given(output.option)) continue;
    try {
      files_.try_emplace(output.option, values_[output.option]);
    } catch (const Error& error) {
      throw UsageError(concat(output.option, ": ", error.what()));
    }
  }
}

std::string SweepOutputs::printed(const SweepResults& results, const Terminal& terminal) const {
  std::string text;
  for (const SweepOutput& output : outputs_) {
    if (!output.is_file && is_given(output.option)) text += concat('\n', output.text(results, terminal));
  }
  return text;
}

std::vector<std::string> SweepOutputs::write(const SweepResults& results) {
  std::vector<std::string> errors;
  for (const SweepOutput& output : outputs_) {
    const auto file = files_.find(output.option);
    if (file == files_.end()) continue;
    try {
      file->second.write(output.text(results, Terminal(-1)));
    } catch (const Error& error) {
      errors.emplace_back(error.what());
    }
  }
  return errors;
}

}  // namespace tutti::tools
