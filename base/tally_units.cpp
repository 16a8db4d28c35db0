#include "base/tally_units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace tutti::base {
namespace {

/// Empty when the value has less than one of every unit but the last.
std::string in_large_units(double value, std::span<const TallyUnit> units) {
  for (const TallyUnit& unit : units.first(units.size() - 1)) {
    const double scaled = value / unit.size;
    if (scaled >= 1) return fmt::format("{:.2f}{}", scaled, unit.name);
  }
  return {};
}

}  // namespace

std::string in_tally_units(std::uint64_t value, std::span<const TallyUnit> units) {
  const std::string text = in_large_units(static_cast<double>(value), units);
  return text.empty() ? fmt::format("{}{}", value, units.back().name) : text;
}

std::string in_tally_units(double value, std::span<const TallyUnit> units) {
  const std::string text = in_large_units(value, units);
  return text.empty() ? fmt::format("{:.2f}{}", value, units.back().name) : text;
}

std::optional<double> parse_tally_units(std::string_view text, std::span<const TallyUnit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  for (const TallyUnit& unit : units) {
    if (text == unit.name) return number * unit.size;
  }
  return {};
}

}  // namespace tutti::base
