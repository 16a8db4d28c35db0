// Parsing of the values of settings, and the errors for invalid values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "settings/settings.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Calls visit(word) for each of the words in "a|b|c" until it returns true.
template <typename Visit>
bool any_choice(std::string_view choices, Visit visit) {
  while (true) {
    const std::size_t bar = choices.find('|');
    if (visit(choices.substr(0, bar))) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

/// "a|b|c" as "a, b or c".
std::string listed(std::string_view choices) {
  std::string text;
  const std::size_t last = choices.rfind('|');
  std::size_t position = 0;
  any_choice(choices, [&](std::string_view word) {
    if (position > 0) text += position - 1 == last ? " or " : ", ";
    text += word;
    position += word.size() + 1;
    return false;
  });
  return text;
}

bool accepts(const Setting& setting, std::string_view value) {
  switch (setting.kind) {
    case SettingKind::text:
      return true;
    case SettingKind::flag:
      return parse_flag(value).has_value();
    case SettingKind::integer:
      return parse_integer(value).has_value();
    case SettingKind::bytes:
      return parse_bytes(value).has_value();
    case SettingKind::duration:
      return value.empty() || parse_duration(value).has_value();
    case SettingKind::choice:
      return any_choice(setting.choices, [&](std::string_view word) { return word == value; });
  }
  return false;
}

std::string accepted(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::text:
      return "text; accepted: anything";
    case SettingKind::flag:
      return "a flag; accepted: 0, 1, true, false, yes, no, on or off";
    case SettingKind::integer:
      return "an integer; accepted: a whole number from 0 to 18446744073709551615";
    case SettingKind::bytes:
      return "a size; accepted: a number with an optional K, M or G";
    case SettingKind::duration:
      return "a duration; accepted: a number with an optional ms, s, min or h";
    case SettingKind::choice:
      return "a choice; accepted: " + listed(setting.choices);
  }
  return "a setting";
}

}  // namespace

std::optional<bool> parse_flag(std::string_view text) noexcept {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (equal_ignoring_case(text, yes)) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (equal_ignoring_case(text, no)) return false;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_integer(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  unsigned shift = 0;
  switch (text.empty() ? '\0' : lower(text.back())) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift != 0) text.remove_suffix(1);
  const std::optional<std::uint64_t> value = parse_integer(text);
  if (!value || *value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *value << shift;
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) noexcept {
  // from_chars alone would also take "inf", "nan" and a minus sign.
  if (text.empty() || !(is_digit(text.front()) || text.front() == '.')) return std::nullopt;
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  double nanoseconds = value;
  if (unit == "ms") {
    nanoseconds *= 1e6;
  } else if (unit.empty() || unit == "s") {
    nanoseconds *= 1e9;
  } else if (unit == "min") {
    nanoseconds *= 60e9;
  } else if (unit == "h") {
    nanoseconds *= 3600e9;
  } else {
    return std::nullopt;
  }
  // 2^63 is the first double that does not fit.
  if (!(nanoseconds < 0x1p63)) return std::nullopt;
  // Rounds a tiny duration up, because 0 means none.
  if (nanoseconds > 0 && nanoseconds < 1) nanoseconds = 1;
  return std::chrono::nanoseconds(std::llround(nanoseconds));
}

void check_setting(const Setting& setting, std::string_view value) {
  if (accepts(setting, value)) return;
  const std::string shown = setting.secret ? "(set)" : printable(value);
  throw Error(ErrorCode::config, std::string(setting.name) + "=" + shown + " is not " + accepted(setting));
}

}  // namespace tutti
