#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/table.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// A column of a matrix with a cell per row.
struct MatrixColumn {
  std::string title;
  std::vector<std::string> cells;
};

/// The text that a sub-command shows: sections with tables.
class Report {
 public:
  Report(const Terminal& terminal, std::size_t width) : terminal_(terminal), width_(width) {}

  /// Begins a section, with an empty line before and after. A remark that does not fit beside the title goes below it.
  void heading(std::string_view title, std::string_view remark = {});
  void add(const Table& table) { text_ += table.render(terminal_, width_); }
  /// Adds a matrix whose first column names the rows. Columns that do not fit the width go into further blocks below.
  void matrix(const std::vector<MatrixColumn>& columns);
  void line(std::string_view text);
  /// Adds text wrapped to the width, with two blanks in front of each line.
  void paragraph(std::string_view text);

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  /// Width left for text after two blanks.
  [[nodiscard]] std::size_t room() const noexcept;

  Terminal terminal_;
  std::size_t width_;
  std::string text_;
};

}  // namespace tutti::tools
