#include "options.hpp"

#include <algorithm>
#include <charconv>

#include "text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {

OptionParser::OptionParser(std::string usage, std::string summary)
    : usage_(std::move(usage)), summary_(std::move(summary)) {}

OptionParser& OptionParser::value(std::string_view names, std::string placeholder, std::string help, Setter set) {
  rows_.push_back({split(names, ','), std::move(placeholder), std::move(help), std::move(set), nullptr});
  return *this;
}

OptionParser& OptionParser::flag(std::string_view names, std::string help, bool& target) {
  rows_.push_back({split(names, ','), {}, std::move(help), {}, &target});
  return *this;
}

OptionParser& OptionParser::epilog(std::string text) {
  epilog_ = std::move(text);
  return *this;
}

const OptionParser::Row& OptionParser::find(const std::string& name) const {
  std::vector<std::string_view> known = {"--help"};
  for (const Row& row : rows_) {
    if (std::ranges::find(row.names, name) != row.names.end()) return row;
    known.insert(known.end(), row.names.begin(), row.names.end());
  }
  const std::string_view guess = nearest(name, known);
  throw UsageError(concat("unknown option ", name, guess.empty() ? "" : concat(" (did you mean ", guess, "?)")));
}

std::optional<std::vector<std::string>> OptionParser::parse(std::span<const std::string> arguments) const {
  std::size_t next = 0;
  while (next < arguments.size()) {
    std::string name = arguments[next];
    if (name == "--help" || name == "-h") return std::nullopt;
    if (name == "--") {
      ++next;
      break;
    }
    if (name.size() < 2 || name[0] != '-') break;
    ++next;
    std::optional<std::string> text;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != std::string::npos) {
      text = name.substr(equals + 1);
      name.resize(equals);
    } else if (!name.starts_with("--") && name.size() > 2) {
      text = name.substr(2);
      name.resize(2);
    }
    const Row& row = find(name);
    if (row.flag != nullptr) {
      if (text) throw UsageError(concat("option ", name, " takes no value"));
      *row.flag = true;
      continue;
    }
    if (!text) {
      if (next == arguments.size()) throw UsageError(concat("option ", name, " needs a value: ", row.placeholder));
      text = arguments[next++];
    }
    try {
      row.set(*text);
    } catch (const UsageError& error) {
      throw UsageError(concat("option ", name, ": ", error.what()));
    } catch (const Error& error) {
      throw UsageError(concat("option ", name, ": ", error.what()));
    }
  }
  return std::vector<std::string>(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
}

std::string OptionParser::left_column(const Row& row) {
  std::string text = join(row.names, ", ");
  if (!row.placeholder.empty()) text += " " + row.placeholder;
  return text;
}

std::string OptionParser::help(std::size_t width) const {
  std::string out = "usage: " + usage_ + "\n\n";
  for (const std::string& paragraph : split(summary_, '\n')) {
    for (const std::string& line : wrap(paragraph, width)) out += line + "\n";
  }
  out += "\nOptions:\n";
  std::size_t column = 10;
  for (const Row& row : rows_) column = std::max(column, left_column(row).size());
  const std::size_t help_width = width > column + 24 ? width - column - 4 : 20;
  const auto add = [&](const std::string& left, const std::string& help_text) {
    std::string begin = "  " + left + std::string(column - left.size() + 2, ' ');
    for (const std::string& line : wrap(help_text, help_width)) {
      out += begin + line + "\n";
      begin.assign(column + 4, ' ');
    }
  };
  for (const Row& row : rows_) add(left_column(row), row.help);
  add("-h, --help", "Show this text.");
  if (!epilog_.empty()) out += "\n" + epilog_;
  return out;
}

long parse_number(const std::string& text, long least, long most) {
  long value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stop != end || value < least || value > most) {
    throw UsageError(concat('"', text, "\" is not a whole number from ", least, " to ", most));
  }
  return value;
}

}  // namespace tutti::tools
