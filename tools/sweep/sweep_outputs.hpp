#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "results/sweep_results.hpp"
#include "text/output_file.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// An option of the sweep that shows or stores the complete results.
struct SweepOutput {
  std::string option;
  std::string help;
  std::function<std::string(const SweepResults&, const Terminal&)> text;
  bool is_file = true;  ///< the option takes the path of a file; otherwise it is a flag, and the text is printed
};

/// The outputs of `tutti sweep`, in the order in which they are written.
[[nodiscard]] std::vector<SweepOutput> sweep_outputs();

/// The outputs that a command line asks for.
class SweepOutputs {
 public:
  explicit SweepOutputs(std::vector<SweepOutput> outputs) : outputs_(std::move(outputs)) {}

  void add_options(CLI::App& command);
  [[nodiscard]] bool is_given(const std::string& option) const { return values_.contains(option); }
  /// Path of an output; empty when it is not asked for.
  [[nodiscard]] std::string file(const std::string& option) const;
  /// Asks for an output as if it were on the command line.
  void set_file(const std::string& option, const std::string& path);

  /// Opens the files before the sweep, which takes minutes, so that a file that cannot be written is reported at once.
  /// Throws UsageError.
  void open();
  /// Text of the outputs that are printed.
  [[nodiscard]] std::string printed(const SweepResults& results, const Terminal& terminal) const;
  /// Writes all files; one that fails does not keep the others from being written. Returns the errors.
  [[nodiscard]] std::vector<std::string> write(const SweepResults& results);

 private:
  std::vector<SweepOutput> outputs_;
  std::map<std::string, std::string> values_;  ///< path, or nothing for a flag, by option
  std::map<std::string, OutputFile> files_;
};

}  // namespace tutti::tools
