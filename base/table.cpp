#include "base/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace tutti::base {

std::string pad(const std::string& text, std::size_t width, Align align) {
  return align == Align::left ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.title.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::string Table::render(const Style& style, std::size_t width) const {
  std::vector<std::size_t> widths = this->widths();
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
    out += style.bold(line_of(titles)) + "\n" + style.dim(line_of(rules)) + "\n";
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

Table Table::with_columns(const std::vector<std::size_t>& chosen) const {
  std::vector<Column> columns;
  for (const std::size_t i : chosen) columns.push_back(columns_[i]);
  Table part(std::move(columns));
  for (const auto& row : rows_) {
    std::vector<std::string> cells;
    for (const std::size_t i : chosen) cells.push_back(row[i]);
    part.add(std::move(cells));
  }
  return part;
}

std::string Table::render_parts(const Style& style, std::size_t width, std::size_t keys, std::size_t group) const {
  const std::vector<std::size_t> widths = this->widths();
  std::vector<std::size_t> key_columns;
  std::size_t key_width = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    key_columns.push_back(i);
    key_width += widths[i] + 2;
  }
  std::string out;
  std::vector<std::size_t> part = key_columns;
  std::size_t part_width = key_width;
  const auto finish = [&] {
    if (part.size() == keys && !out.empty()) return;
    if (!out.empty()) out += "\n";
    // The columns were chosen to fit: nothing is left to wrap, except where one group alone is too wide.
    out += with_columns(part).render(style, std::max(width, part_width + 2));
    part = key_columns;
    part_width = key_width;
  };
  for (std::size_t first = keys; first < columns_.size(); first += group) {
    std::vector<std::size_t> together;
    std::size_t group_width = 0;
    for (std::size_t i = first; i < std::min(first + group, columns_.size()); ++i) {
      if (std::ranges::all_of(rows_, [i](const auto& row) { return row[i].empty(); })) continue;
      together.push_back(i);
      group_width += widths[i] + 2;
    }
    if (part.size() > keys && part_width + group_width > width) finish();
    part.insert(part.end(), together.begin(), together.end());
    part_width += group_width;
  }
  finish();
  return out;
}

}  // namespace tutti::base
