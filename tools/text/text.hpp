#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/spi/printable.hpp"

namespace tutti::tools {

using spi::printable;

/// Concatenates the arguments as operator<< writes them.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// The pieces between the separators; none for an empty text.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// `text` without blanks at either end.
[[nodiscard]] std::string_view trim(std::string_view text);

/// Breaks at blanks into lines of at most `width` characters; a word that is longer gets a line of its own.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// The candidate that begins with `word` or needs the fewest typing corrections; empty when none is close.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Three significant digits without an exponent: "0.0123", "4.56", "78.9", "1230".
[[nodiscard]] std::string three_digits(double value);

/// A time in the unit that reads best: "4.56 us", "78.9 ms", "1.23 s".
[[nodiscard]] std::string format_time_us(double microseconds);

/// "1 KiB", "512 MiB", "1000 B": exact, in the largest unit that divides `bytes`.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "21.4 GiB": three digits in the largest unit that fits.
[[nodiscard]] std::string format_bytes_rounded(std::uint64_t bytes);

/// "0:42", "1:05:00"
[[nodiscard]] std::string format_clock(double seconds);

/// "signal 11 (SIGSEGV, segmentation fault)"
[[nodiscard]] std::string describe_signal(int number);

}  // namespace tutti::tools
