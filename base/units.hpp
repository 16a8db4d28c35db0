#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::base {

/// Breaks at blanks into lines of at most `width` characters; a word that is longer gets a line of its own.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Three significant digits without an exponent: "0.0123", "4.56", "78.9", "1230".
[[nodiscard]] std::string three_digits(double value);

/// A time in the unit that reads best: "4.56 us", "78.9 ms", "1.23 s".
[[nodiscard]] std::string format_time_us(double microseconds);

/// "1 KiB", "512 MiB", "1000 B": exact, in the largest unit that divides `bytes`.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "21.4 GiB": three digits in the largest unit that fits.
[[nodiscard]] std::string format_bytes_rounded(std::uint64_t bytes);

}  // namespace tutti::base
