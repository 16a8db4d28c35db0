#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace tutti::tools {

/// Formats help as wide as the terminal: usage, description, commands, options. The footer is not wrapped.
class HelpFormatter : public CLI::FormatterBase {
 public:
  /// `usage`: "tutti run -n N [options] -- PROGRAM"; `description`: a paragraph.
  HelpFormatter(std::string usage, std::string description)
      : usage_(std::move(usage)), description_(std::move(description)) {}

  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

 private:
  std::string usage_;
  std::string description_;
};

/// Texts of a sub-command's help.
struct CommandText {
  std::string_view name;
  std::string_view summary;  ///< its line in `tutti --help`
  std::string_view usage;
  std::string_view description;
  std::string_view footer = {};  ///< examples, exit codes
};

/// The command line without its sub-commands.
[[nodiscard]] std::unique_ptr<CLI::App> make_command_line();

/// Adds a sub-command that the help lists.
CLI::App& add_command(CLI::App& tutti, const CommandText& text);
/// Lists the backends of this machine in the help of `command`.
void list_backends_in_help(CLI::App& command);
/// Adds a sub-command that only tutti itself calls; the help does not list it.
CLI::App& add_internal_command(CLI::App& tutti, const std::string& name);

/// Adds an option with a value; `set` gets the value each time the option is given. An exception from `set` is reported
/// with the option's name. `placeholder` stands for the value in the help.
CLI::Option& add_value(CLI::App& app, const std::string& names, const std::string& placeholder, const std::string& help,
                       std::function<void(const std::string&)> set);

/// Adds an option that takes a whole number from `least` to `most`.
template <typename Number>
CLI::Option& add_number(CLI::App& app, const std::string& names, Number& target, Number least, Number most,
                        const std::string& help) {
  return *app.add_option(names, target, help)->type_name("N")->check(CLI::Range(least, most));
}

/// Throws UsageError for the unknown word `word`; the message suggests the closest option or command of `app`.
[[noreturn]] void refuse_word(const CLI::App& app, const std::string& word);

/// The program of a sub-command with prefix_command(): the words after "--", or without it those from the first word on
/// that is not an option. Throws UsageError for an unknown option before it.
[[nodiscard]] std::vector<std::string> program_words(const CLI::App& command, const Invocation& invocation);

/// Parses the words and runs the sub-command, which stores its exit code in `invocation`. Writes the help or the
/// version on request. Throws UsageError and the exceptions of the sub-command.
void parse(CLI::App& tutti, std::vector<std::string> words, Invocation& invocation);

}  // namespace tutti::tools
