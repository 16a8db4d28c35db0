#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tutti::base {

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string three_digits(double value) {
  int decimals = 0;
  if (value > 0) {
    // Round first: 9.996 has one digit before the point but is shown as 10.0.
    value = std::stod(fmt::format("{:.2e}", value));
    decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(value) + 1e-12)), 0, 6);
  }
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_time_us(double microseconds) {
  if (microseconds < 999.5) return three_digits(microseconds) + " us";
  if (microseconds < 999.5e3) return three_digits(microseconds / 1e3) + " ms";
  return three_digits(microseconds / 1e6) + " s";
}

namespace {
constexpr std::array<const char*, 5> kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
}

std::string format_bytes(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

std::string format_bytes_rounded(std::uint64_t bytes) {
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? std::to_string(bytes) + kUnits[0] : three_digits(value) + kUnits[unit];
}

}  // namespace tutti::base
