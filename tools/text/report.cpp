#include "text/report.hpp"

#include <algorithm>

#include "text/text.hpp"

namespace tutti::tools {

void Report::heading(std::string_view title, std::string_view remark) {
  text_ += concat(text_.empty() ? "" : "\n", terminal_.bold(title));
  if (title.size() + 2 + remark.size() <= width_) {
    if (!remark.empty()) text_ += terminal_.dim(concat("  ", remark));
    text_ += "\n\n";
    return;
  }
  text_ += "\n";
  for (const std::string& piece : wrap(remark, room())) text_ += concat("  ", terminal_.dim(piece), '\n');
  text_ += "\n";
}

void Report::matrix(const std::vector<MatrixColumn>& columns) {
  const auto width_of = [](const MatrixColumn& column) {
    std::size_t widest = column.title.size();
    for (const std::string& cell : column.cells) widest = std::max(widest, cell.size());
    return widest + 2;
  };
  for (std::size_t begin = 1; begin < columns.size();) {
    if (begin > 1) line("");
    std::vector<const MatrixColumn*> shown = {columns.data()};
    std::size_t width = width_of(columns.front());
    while (begin < columns.size() && (shown.size() == 1 || width + width_of(columns[begin]) <= width_)) {
      width += width_of(columns[begin]);
      shown.push_back(&columns[begin++]);
    }
    std::vector<Table::Column> titles;
    for (const MatrixColumn* column : shown) titles.push_back({column->title});
    Table table(std::move(titles));
    for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
      std::vector<std::string> cells;
      for (const MatrixColumn* column : shown) cells.push_back(column->cells[row]);
      table.add(std::move(cells));
    }
    add(table);
  }
}

std::size_t Report::room() const noexcept { return std::max<std::size_t>(width_, 22) - 2; }

void Report::line(std::string_view text) { text_ += concat(text, '\n'); }

void Report::paragraph(std::string_view text) {
  for (const std::string& piece : wrap(text, room())) text_ += concat("  ", piece, '\n');
}

}  // namespace tutti::tools
