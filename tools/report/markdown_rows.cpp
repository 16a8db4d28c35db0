#include "report/markdown_rows.hpp"

#include <algorithm>

#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

bool is_rule(const std::vector<std::string>& cells) {
  return std::ranges::all_of(cells, [](const std::string& cell) {
    return cell.find('-') != std::string::npos && cell.find_first_not_of("-:") == std::string::npos;
  });
}

/// Cells of a whole row: "| a | b |".
std::vector<std::string> cells_of(std::string_view row) {
  row.remove_prefix(1);
  row.remove_suffix(1);
  std::vector<std::string> cells(1);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') {
      cells.back() += row[++i];
    } else if (row[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += row[i];
    }
  }
  for (std::string& cell : cells) cell = std::string(trim(cell));
  return cells;
}

[[noreturn]] void fail_without_end(std::string_view where, std::size_t line) {
  throw Error(ErrorCode::config,
              concat(where, ", line ", line, ": the row of the table has no end; each row ends with \"|\""));
}

}  // namespace

std::vector<MarkdownRow> markdown_rows(std::string_view file, std::string_view where) {
  std::vector<MarkdownRow> rows;
  std::string row;
  std::size_t row_line = 0;
  std::size_t number = 0;
  for (const std::string& whole : split(file, '\n')) {
    ++number;
    const std::string_view line = trim(whole);
    if (row.empty() && !line.starts_with('|')) {
      if (!line.empty()) rows.push_back({.line = number, .cells = {}, .text = std::string(line)});
      continue;
    }
    if (row.empty()) row_line = number;
    if (!row.empty() && line.starts_with('|')) fail_without_end(where, row_line);
    row += concat(row.empty() ? "" : " ", line);
    if (row.size() < 2 || !row.ends_with('|')) continue;
    std::vector<std::string> cells = cells_of(row);
    if (!is_rule(cells)) rows.push_back({.line = row_line, .cells = std::move(cells)});
    row.clear();
  }
  if (!row.empty()) fail_without_end(where, row_line);
  return rows;
}

}  // namespace tutti::tools
