#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/table.hpp"

namespace tutti::tools {

/// A value as people read it, and as programs do: "1.85 ms" and "1850".
struct ReportCell {
  std::string text;
  std::string raw;

  ReportCell(std::string both = {}) : text(std::move(both)), raw(text) {}  // NOLINT: most cells are one text
  ReportCell(const char* both) : ReportCell(std::string(both)) {}          // NOLINT
  ReportCell(std::string shown, std::string for_programs) : text(std::move(shown)), raw(std::move(for_programs)) {}
};

[[nodiscard]] ReportCell count_cell(std::uint64_t count);
[[nodiscard]] ReportCell size_cell(std::uint64_t bytes);
[[nodiscard]] ReportCell time_cell(double microseconds);
/// "1.25"; `raw` has more digits.
[[nodiscard]] ReportCell ratio_cell(double ratio);
/// "25 %"; `raw` is the share as a number: 0.25.
[[nodiscard]] ReportCell percent_cell(double share);
/// A number for programs without an exponent or trailing zeros.
[[nodiscard]] std::string raw_number(double value);

struct ReportColumn {
  std::string title;
  std::string key = {};  ///< title in CSV; empty: `title`
  Align align = Align::right;
};

/// A table of a report in any format.
struct ReportTable {
  std::string title;  ///< of the block of lines in CSV, and the heading of the others; may be empty
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportCell>> rows = {};
  std::size_t keys = 1;   ///< columns that a table repeats when it is split to the width of a terminal
  std::size_t group = 1;  ///< further columns that such a table keeps together

  [[nodiscard]] bool empty() const noexcept { return rows.empty(); }
};

}  // namespace tutti::tools
