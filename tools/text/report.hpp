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

/// A text of sections with tables, as a sub-command shows what it found.
class Report {
 public:
  Report(const Terminal& terminal, std::size_t width) : terminal_(terminal), width_(width) {}

  /// Begins a section, with an empty line before and after. A remark that does not fit beside the title goes below it.
  void heading(std::string_view title, std::string_view remark = {});
  void add(const Table& table) { text_ += table.render(terminal_, width_); }
  /// As many columns beside the first, which names the rows, as the width takes; below that the next, and so on.
  void matrix(const std::vector<MatrixColumn>& columns);
  void line(std::string_view text);
  /// Text that is wrapped to the width, two blanks in front of each line.
  void paragraph(std::string_view text);

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  /// For text behind two blanks.
  [[nodiscard]] std::size_t room() const noexcept;

  Terminal terminal_;
  std::size_t width_;
  std::string text_;
};

}  // namespace tutti::tools
