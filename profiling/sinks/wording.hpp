#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "base/style.hpp"
#include "base/units.hpp"
#include "report/profile.hpp"
#include "sinks/lookup.hpp"
#include "tutti/spi/printable.hpp"

/// Wording that the tables for people share.
namespace tutti::profiling {

/// "1.23 ms", "560 ns", "0".
[[nodiscard]] inline std::string time_text(double nanoseconds) {
  if (nanoseconds < 999.5) return nanoseconds == 0 ? "0" : std::to_string(std::lround(nanoseconds)) + " ns";
  return base::format_time_us(nanoseconds / 1e3);
}

/// The same, but empty for 0, so that tables are easy to scan.
[[nodiscard]] inline std::string time_cell(double nanoseconds) {
  return nanoseconds == 0 ? "" : time_text(nanoseconds);
}
[[nodiscard]] inline std::string time_cell(std::uint64_t nanoseconds) {
  return time_cell(static_cast<double>(nanoseconds));
}

/// "1.23 MiB"; empty for 0.
[[nodiscard]] inline std::string bytes_cell(std::uint64_t bytes) {
  return bytes == 0 ? "" : base::format_bytes_rounded(bytes);
}

/// A number; empty for 0.
[[nodiscard]] inline std::string count_cell(std::uint64_t count) { return count == 0 ? "" : std::to_string(count); }

/// "12.3 %"; empty for 0 of 0.
[[nodiscard]] inline std::string share_cell(double part, double whole) {
  return whole == 0 ? "" : base::three_digits(100 * part / whole) + " %";
}

/// Text of a program or a file for a terminal, short enough for a column.
[[nodiscard]] inline std::string name_cell(std::string_view text) { return spi::printable(text, 60); }

/// "3", or "node7:1234" for a process without a rank.
[[nodiscard]] inline std::string rank_name(const Profile& profile, int process) {
  const ProcessRow* row = row_at(profile.processes, process);
  if (row == nullptr) return "?";
  return row->rank >= 0 ? std::to_string(row->rank) : name_cell(row->host) + ":" + std::to_string(row->pid);
}

/// A heading and an empty line below it.
[[nodiscard]] inline std::string heading(const base::Style& style, const std::string& title) {
  return style.bold(title) + "\n\n";
}

/// Sentences below a table, wrapped.
[[nodiscard]] inline std::string note(const std::string& text, std::size_t width) {
  std::string out;
  for (const std::string& line : base::wrap(text, width > 42 ? width - 2 : 40)) out += "  " + line + "\n";
  return out;
}

}  // namespace tutti::profiling
