#include "report/report_printer.hpp"

#include "text/csv.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kMarkdownWidth = 100;

/// Texts of files may hold control characters, which a terminal would obey.
std::string shown(std::string_view text) { return printable(text, std::string::npos); }

std::string to_text(const ReportTable& table, const Terminal& terminal) {
  std::vector<Table::Column> columns;
  for (const ReportColumn& column : table.columns) columns.push_back({shown(column.title), column.align});
  Table printed(std::move(columns));
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const ReportCell& cell : row) cells.push_back(shown(cell.text));
    printed.add(std::move(cells));
  }
  return printed.render_parts(terminal, terminal.columns(), table.keys, table.group);
}

/// A vertical bar would begin another cell.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : shown(text)) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string to_markdown(const ReportTable& table) {
  std::string titles = "|";
  std::string rule = "|";
  for (const ReportColumn& column : table.columns) {
    titles += concat(' ', markdown_cell(column.title), column.title.empty() ? "|" : " |");
    rule += column.align == Align::right ? " ---: |" : " --- |";
  }
  std::string text = concat(titles, '\n', rule, '\n');
  for (const auto& row : table.rows) {
    text += '|';
    for (const ReportCell& cell : row) text += concat(' ', markdown_cell(cell.text), cell.text.empty() ? "|" : " |");
    text += '\n';
  }
  return text;
}

std::string to_csv(const ReportTable& table) {
  std::string text;
  for (const ReportColumn& column : table.columns)
    text += (text.empty() ? "" : ",") + csv_field(column.key.empty() ? column.title : column.key);
  text += '\n';
  for (const auto& row : table.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(row[i].raw);
    text += line + '\n';
  }
  return text;
}

}  // namespace

std::optional<ReportFormat> parse_report_format(std::string_view text) noexcept {
  if (text == "text") return ReportFormat::text;
  if (text == "markdown") return ReportFormat::markdown;
  if (text == "csv") return ReportFormat::csv;
  return std::nullopt;
}

void ReportPrinter::separate() {
  is_in_list_ = false;
  if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
}

void ReportPrinter::chapter(std::string_view title) {
  if (format_ == ReportFormat::csv) return;
  separate();
  text_ += format_ == ReportFormat::markdown ? concat("## ", shown(title), "\n\n")
                                             : concat(terminal_.bold(shown(title)), "\n\n");
}

void ReportPrinter::paragraph(std::string_view text) {
  if (format_ == ReportFormat::csv || text.empty()) return;
  separate();
  for (const std::string& piece :
       wrap(shown(text), format_ == ReportFormat::markdown ? kMarkdownWidth : terminal_.columns()))
    text_ += concat(piece, '\n');
}

void ReportPrinter::item(std::string_view text) {
  if (format_ == ReportFormat::csv) return;
  const bool markdown = format_ == ReportFormat::markdown;
  if (markdown && !is_in_list_) separate();
  is_in_list_ = true;
  std::string indent = markdown ? "- " : "  ";
  for (const std::string& piece : wrap(shown(text), (markdown ? kMarkdownWidth : terminal_.columns()) - 4)) {
    text_ += concat(indent, piece, '\n');
    indent = markdown ? "  " : "      ";
  }
}

void ReportPrinter::line(std::string_view text) {
  if (format_ == ReportFormat::csv) return;
  if (format_ == ReportFormat::markdown) separate();
  text_ += concat(shown(text), '\n');
}

void ReportPrinter::add(const ReportTable& table) {
  if (table.empty()) return;
  separate();
  switch (format_) {
    case ReportFormat::text:
      text_ += (table.title.empty() ? "" : terminal_.bold(shown(table.title)) + "\n\n") + to_text(table, terminal_);
      break;
    case ReportFormat::markdown:
      text_ += (table.title.empty() ? "" : concat("### ", shown(table.title), "\n\n")) + to_markdown(table);
      break;
    case ReportFormat::csv:
      text_ += (table.title.empty() ? "" : concat("# ", table.title, '\n')) + to_csv(table);
      break;
  }
}

}  // namespace tutti::tools
