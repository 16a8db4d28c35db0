#include "text/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/text.hpp"

namespace tutti::tools {

std::string pad(const std::string& text, std::size_t width, Align align) {
  return align == Align::left ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::render(const Terminal& terminal, std::size_t width) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.title.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const std::size_t last = columns_.size() - 1;
  std::size_t before_last = 2;
  for (std::size_t i = 0; i < last; ++i) before_last += widths[i] + 2;
  const std::size_t room = width > before_last + 20 ? width - before_last : 20;
  widths[last] = std::min(widths[last], room);

  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += "  " + pad(cells[i], widths[i], columns_[i].align);
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::string out;
  if (std::ranges::any_of(columns_, [](const Column& column) { return !column.title.empty(); })) {
    std::vector<std::string> titles;
    std::vector<std::string> rules;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      titles.push_back(columns_[i].title);
      rules.emplace_back(widths[i], '-');
    }
    out += terminal.bold(line_of(titles)) + "\n" + terminal.dim(line_of(rules)) + "\n";
  }
  for (std::vector<std::string> row : rows_) {
    for (const std::string& piece : wrap(row[last], widths[last])) {
      row[last] = piece;
      out += line_of(row) + "\n";
      row.assign(columns_.size(), {});
    }
  }
  return out;
}

}  // namespace tutti::tools
