#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/style.hpp"

namespace tutti::base {

enum class Align : std::uint8_t { left, right };

/// Text in aligned columns. The last column is wrapped when the table is wider than asked for.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; missing cells at the end are empty.
  void add(std::vector<std::string> cells);
  /// Whether the table has no row.
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// The table as text: two blanks in front of each line and between columns; titles and a rule unless all titles are
  /// empty.
  [[nodiscard]] std::string render(const Style& style, std::size_t width) const;

  /// The same for tables of numbers: a table that is wider is printed as several below each other, each of which begins
  /// with the first `keys` columns. The columns behind them stay together in groups of `group`. Columns without any
  /// text are left out.
  [[nodiscard]] std::string render_parts(const Style& style, std::size_t width, std::size_t keys,
                                         std::size_t group = 1) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] Table with_columns(const std::vector<std::size_t>& chosen) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` filled with blanks to `width`.
[[nodiscard]] std::string pad(const std::string& text, std::size_t width, Align align);

}  // namespace tutti::base
