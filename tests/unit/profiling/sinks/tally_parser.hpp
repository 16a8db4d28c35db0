#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Reads tables in iprof's text format back into numbers, in the way a script of a user would.
namespace tutti::profiling::test {

struct ParsedRow {
  std::map<std::string, double> cells;  ///< by title of the column; ns, bytes, percent or a number; empty cells absent
};

struct ParsedTable {
  std::string title;
  std::map<std::string, long> counts;  ///< "Processes" -> 36
  std::vector<std::string> names;      ///< of the rows in order
  std::map<std::string, ParsedRow> rows;
};

inline std::string without_blanks_around(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

inline std::vector<std::string> split_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = line.find('|', begin)) != std::string::npos; begin = end + 1) {
    cells.push_back(without_blanks_around(std::string_view(line).substr(begin, end - begin)));
  }
  return cells;
}

/// "1.85min" -> 1.11e11
inline double number_of(const std::string& text) {
  static const std::map<std::string, double> units = {
      {"", 1},       {"%", 1}, {"ns", 1},   {"us", 1e3}, {"ms", 1e6}, {"s", 1e9},   {"min", 6e10},
      {"h", 3.6e12}, {"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}};
  std::size_t used = 0;
  const double value = std::stod(text, &used);
  const auto unit = units.find(text.substr(used));
  if (unit == units.end()) throw std::invalid_argument("unknown unit in " + text);
  return value * unit->second;
}

/// "BACKEND_ZE | 1 Hostnames | 36 Processes | 57 Threads | "
inline ParsedTable parse_header(const std::string& line) {
  ParsedTable table;
  for (const std::string& cell : split_cells(line)) {
    const std::size_t blank = cell.find(' ');
    if (table.title.empty()) {
      table.title = cell;
    } else {
      table.counts[cell.substr(blank + 1)] = std::stol(cell.substr(0, blank));
    }
  }
  return table;
}

inline std::vector<ParsedTable> parse_tally(const std::string& text) {
  std::vector<ParsedTable> tables;
  std::vector<std::string> columns;
  std::istringstream lines(text);
  int blank_lines = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      ++blank_lines;
      continue;
    }
    if (blank_lines % 2 == 0) {  // one blank line follows the title, one the rows
      tables.push_back(parse_header(line));
      columns.clear();
      if (blank_lines == 0 && tables.size() > 1) throw std::invalid_argument("no blank line below the title");
      continue;
    }
    const std::vector<std::string> cells = split_cells(line);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    ParsedTable& table = tables.back();
    table.names.push_back(cells.at(0));
    ParsedRow& row = table.rows[cells.at(0)];
    // The row of totals has blanks without bars for average, minimum and maximum; its errors would come after them.
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const bool total_error = cells.at(0) == "Total" && i == 4;
      if (!cells[i].empty()) row.cells[total_error ? "Error" : columns.at(i)] = number_of(cells[i]);
    }
  }
  return tables;
}

}  // namespace tutti::profiling::test
