#include "settings/horovod_variable.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_word_for_flag(std::string_view value) noexcept {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"true", "false", "yes", "no", "on", "off"},
                             [&](std::string_view word) { return equal_ignoring_case(value, word); });
}

bool is_whole_number(std::string_view value) noexcept {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && rest == value.data() + value.size() && number >= 0;
}

bool is_real_number(std::string_view value) noexcept {
  double number = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && rest == value.data() + value.size() && number >= 0 && std::isfinite(number);
}

bool is_choice(std::string_view choices, std::string_view value) noexcept {
  while (true) {
    const std::size_t bar = choices.find('|');
    if (equal_ignoring_case(choices.substr(0, bar), value)) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

[[noreturn]] void fail(const HorovodVariable& variable, std::string_view value, const std::string& problem) {
  throw Error(ErrorCode::config, std::string(variable.name) + '=' +
                                     (variable.is_secret ? "(set)" : spi::printable(value)) + ' ' + problem);
}

std::string as_upstream(std::string_view value) {
  return "upstream Horovod reads " + std::string(read_flag(value) ? "on" : "off") + " from it";
}

}  // namespace

const HorovodVariable* find_horovod_variable(std::string_view name) noexcept {
  const auto rows = horovod_variables();
  const auto row = std::ranges::find(rows, name, &HorovodVariable::name);
  return row == rows.end() ? nullptr : &*row;
}

void check_horovod_value(const HorovodVariable& variable, std::string_view value, bool compatible) {
  switch (variable.kind) {
    case VariableKind::text:
      return;
    case VariableKind::flag:
      if (compatible || is_whole_number(value)) return;
      if (is_word_for_flag(value))
        fail(variable, value,
             "is a word, and " + as_upstream(value) +
                 "; write 1 or 0, or set HOROVOD_COMPAT=1 to get upstream's reading");
      fail(variable, value,
           "is neither 1 nor 0, and " + as_upstream(value) +
               "; write 1 or 0, or set HOROVOD_COMPAT=1 to get upstream's reading");
    case VariableKind::integer:
      if (compatible || is_whole_number(value)) return;
      fail(variable, value,
           "is not a whole number of 0 or more, without a unit; upstream Horovod would read " +
               std::to_string(read_integer(value)) + " from it");
    case VariableKind::real:
      if (compatible || is_real_number(value)) return;
      fail(variable, value, "is not a number of 0 or more, without a unit");
    case VariableKind::choice:
      // An error upstream as well.
      if (is_choice(variable.choices, value)) return;
      fail(variable, value, "is unknown; accepted: " + std::string(variable.choices));
  }
}

std::int64_t read_integer(std::string_view value) noexcept {
  const std::string text(value);
  return std::strtol(text.c_str(), nullptr, 10);
}

bool read_flag(std::string_view value) noexcept { return read_integer(value) > 0; }

double read_real(std::string_view value) noexcept {
  const std::string text(value);
  return std::strtod(text.c_str(), nullptr);
}

}  // namespace tutti::horovod
