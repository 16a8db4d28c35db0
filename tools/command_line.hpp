#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace tutti::tools {

/// Writes a help text as wide as the terminal: usage, description, commands, options and the footer as it is.
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

/// The words of a sub-command's help.
struct CommandText {
  std::string_view name;
  std::string_view summary;  ///< its line in the help of tutti
  std::string_view usage;
  std::string_view description;
  std::string_view footer = {};  ///< examples, exit codes
};

/// The command line without its sub-commands.
[[nodiscard]] std::unique_ptr<CLI::App> make_command_line();

/// A sub-command for people.
CLI::App& add_command(CLI::App& tutti, const CommandText& text);
/// A sub-command that tutti calls itself; no help shows it.
CLI::App& add_internal_command(CLI::App& tutti, const std::string& name);

/// An option with a value that `set` stores each time it is given. What `set` throws is reported with the name of the
/// option. `placeholder`: what the help calls the value.
CLI::Option& add_value(CLI::App& app, const std::string& names, const std::string& placeholder, const std::string& help,
                       std::function<void(const std::string&)> set);

/// An option with a whole number from `least` to `most`.
template <typename Number>
CLI::Option& add_number(CLI::App& app, const std::string& names, Number& target, Number least, Number most,
                        const std::string& help) {
  return *app.add_option(names, target, help)->type_name("N")->check(CLI::Range(least, most));
}

/// Throws UsageError for a word that `app` does not know, with the option or command that was probably meant.
[[noreturn]] void refuse_word(const CLI::App& app, const std::string& word);

/// Reads the words and runs the command they call, which leaves its exit code in `invocation`. Writes the help or the
/// version when those are asked for. Throws UsageError and what the command throws.
void parse(CLI::App& tutti, std::vector<std::string> words, Invocation& invocation);

}  // namespace tutti::tools
