#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

/// The command line is wrong; the message says what is accepted. The command ends with kExitUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The options of a sub-command: what it accepts, how each is stored and the help made from the same rows. Written here
/// so that the command needs nothing but a compiler, like the native engine.
class OptionParser {
 public:
  using Setter = std::function<void(const std::string&)>;

  /// `usage`: "tutti run [options] -- program"; `summary`: a paragraph for the help.
  OptionParser(std::string usage, std::string summary);

  /// An option with a value. `names`: "-n,--ranks"; `placeholder`: "N". A UsageError or Error thrown by the setter is
  /// given the name of the option.
  OptionParser& value(std::string_view names, std::string placeholder, std::string help, Setter set);
  OptionParser& flag(std::string_view names, std::string help, bool& target);
  /// Text below the options: examples, exit codes.
  OptionParser& epilog(std::string text);

  /// Reads options up to "--" or the first word that is none, and returns what follows. Nothing when --help was among
  /// them. Throws UsageError.
  [[nodiscard]] std::optional<std::vector<std::string>> parse(std::span<const std::string> arguments) const;

  [[nodiscard]] std::string help(std::size_t width) const;

 private:
  struct Row {
    std::vector<std::string> names;
    std::string placeholder;  // empty: a flag
    std::string help;
    Setter set;
    bool* flag = nullptr;
  };
  [[nodiscard]] const Row& find(const std::string& name) const;
  [[nodiscard]] static std::string left_column(const Row& row);

  std::string usage_;
  std::string summary_;
  std::string epilog_;
  std::vector<Row> rows_;
};

/// A whole number in [least, most]. Throws UsageError.
[[nodiscard]] long parse_number(const std::string& text, long least, long most);

}  // namespace tutti::tools
