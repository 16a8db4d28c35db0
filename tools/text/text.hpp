#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::tools {

using base::format_bytes;
using base::format_bytes_rounded;
using base::format_time_us;
using base::three_digits;
using base::wrap;
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

/// The candidate that begins with `word` or needs the fewest typing corrections; empty when none is close.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// "0:42", "1:05:00"
[[nodiscard]] std::string format_clock(double seconds);

/// "signal 11 (SIGSEGV, segmentation fault)"
[[nodiscard]] std::string describe_signal(int number);

}  // namespace tutti::tools
