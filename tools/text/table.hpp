#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/terminal.hpp"

namespace tutti::tools {

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
  [[nodiscard]] std::string render(const Terminal& terminal, std::size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` filled with blanks to `width`.
[[nodiscard]] std::string pad(const std::string& text, std::size_t width, Align align);

}  // namespace tutti::tools
