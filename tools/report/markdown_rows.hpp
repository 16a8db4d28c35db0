#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

/// A row of a table in Markdown, or a line of text outside of tables.
struct MarkdownRow {
  std::size_t line = 0;            ///< number in the file, of the first line if the row has several
  std::vector<std::string> cells;  ///< without blanks at their ends; none for a line of text
  std::string text = {};           ///< of a line of text

  [[nodiscard]] bool is_text() const noexcept { return cells.empty(); }
};

/// Splits a file into rows and lines of text; rules and empty lines are left out. A row may be broken over several
/// lines, as people's editors do: it goes on until a line ends with "|". Throws Error{config} that names `where` and
/// the line of a row without an end.
[[nodiscard]] std::vector<MarkdownRow> markdown_rows(std::string_view file, std::string_view where);

}  // namespace tutti::tools
