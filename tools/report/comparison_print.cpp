#include <algorithm>

#include "report/comparison_table.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

const ComparisonCell kNothing;

const ComparisonCell& cell_at(const ComparisonColumn& column, std::uint64_t bytes, Cost cost) {
  const auto found = column.by_size.find(bytes);
  return found == column.by_size.end() ? kNothing : found->second[static_cast<std::size_t>(cost)];
}

ReportCell amount_cell(const ComparisonCell& cell, Cost cost) {
  return {cell.amount_text(cost), cell.amount ? raw_number(*cell.amount) : ""};
}

ReportCell calls_cell(const ComparisonCell& cell) {
  if (!cell.calls) return {};
  return {*cell.calls == 0 ? "" : std::to_string(*cell.calls), std::to_string(*cell.calls)};
}

/// Whether any backend has more than zero calls, or a cell that must be looked at.
bool has_values(const ComparisonTable& table, Cost cost) {
  return std::ranges::any_of(table.columns, [cost](const ComparisonColumn& column) {
    return std::ranges::any_of(column.by_size, [cost](const auto& entry) {
      const ComparisonCell& cell = entry.second[static_cast<std::size_t>(cost)];
      return cell.calls.value_or(0) > 0 || cell.amount.value_or(0) > 0 || !cell.mark.empty();
    });
  });
}

/// Whether no backend has a number or a text.
bool is_empty(const ComparisonTable& table, Cost cost) {
  return std::ranges::all_of(table.columns, [cost](const ComparisonColumn& column) {
    return std::ranges::all_of(
        column.by_size, [cost](const auto& entry) { return entry.second[static_cast<std::size_t>(cost)].is_empty(); });
  });
}

ReportTable remark_table(const ComparisonTable& table) {
  ReportTable remarks{.title = table.title + ": remarks", .columns = {{"remark"}}};
  for (const std::string& remark : table.remarks) remarks.rows.push_back({remark});
  return remarks;
}

ReportTable text_part(const ComparisonTable& table, Cost cost) {
  const char* amount = traits(cost).is_bytes ? "bytes" : "time";
  ReportTable part{.title = std::string(traits(cost).part), .columns = {{"size", "bytes"}}, .group = 2};
  for (const ComparisonColumn& column : table.columns) {
    part.columns.push_back({concat(column.name, ' ', amount)});
    part.columns.push_back({"calls"});
  }
  for (const std::uint64_t bytes : table.sizes()) {
    std::vector<ReportCell>& row = part.rows.emplace_back();
    row.push_back(size_cell(bytes));
    for (const ComparisonColumn& column : table.columns) {
      const ComparisonCell& cell = cell_at(column, bytes, cost);
      row.push_back(amount_cell(cell, cost));
      row.push_back(calls_cell(cell));
    }
  }
  return part;
}

/// The columns of a table of iprof's totals: the name of the backend in every row, an empty column between backends.
ReportTable markdown_part(const ComparisonTable& table, Cost cost) {
  ReportTable part{.title = std::string(traits(cost).part), .columns = {{"", "", Align::left}}};
  for (const ComparisonColumn& column : table.columns) {
    if (&column != &table.columns.front()) part.columns.push_back({"", "", Align::left});
    part.columns.push_back({"", "", Align::left});
    part.columns.push_back({std::string(traits(cost).amount_title)});
    part.columns.push_back({std::string(traits(cost).calls_title)});
  }
  for (const std::uint64_t bytes : table.sizes()) {
    std::vector<ReportCell>& row = part.rows.emplace_back();
    row.push_back(size_cell(bytes));
    for (const ComparisonColumn& column : table.columns) {
      const ComparisonCell& cell = cell_at(column, bytes, cost);
      if (&column != &table.columns.front()) row.emplace_back();
      row.emplace_back(column.name);
      row.push_back(amount_cell(cell, cost));
      row.push_back(calls_cell(cell));
    }
  }
  return part;
}

/// One table for all parts, with numbers in nanoseconds and bytes.
ReportTable csv_table(const ComparisonTable& table) {
  ReportTable all{.title = table.title, .columns = {{"part"}, {"unit"}, {"bytes"}}};
  for (const ComparisonColumn& column : table.columns) {
    all.columns.push_back({column.name + " amount"});
    all.columns.push_back({column.name + " calls"});
  }
  for (const CostTraits& part : kCosts) {
    if (is_empty(table, part.cost)) continue;
    ReportTable numbers = text_part(table, part.cost);
    for (std::vector<ReportCell>& row : numbers.rows) {
      row.insert(row.begin(), {std::string(part.name), part.is_bytes ? "B" : "ns"});
      all.rows.push_back(std::move(row));
    }
  }
  return all;
}

}  // namespace

void print(ReportPrinter& printer, const ComparisonTable& table) {
  if (printer.format() == ReportFormat::csv) {
    printer.add(csv_table(table));
    printer.add(remark_table(table));
    return;
  }
  printer.chapter(table.title);
  for (const ComparisonColumn& column : table.columns) {
    for (const std::string& line : column.header_lines) printer.line(line);
  }
  for (const CostTraits& part : kCosts) {
    if (!has_values(table, part.cost)) {
      printer.paragraph(concat(part.part, ": none."));
    } else if (printer.format() == ReportFormat::markdown) {
      printer.add(markdown_part(table, part.cost));
    } else {
      printer.add(text_part(table, part.cost));
    }
  }
  if (!table.remarks.empty()) printer.paragraph("Remarks:");
  for (const std::string& remark : table.remarks) printer.item(remark);
}

}  // namespace tutti::tools
