#include "report/imported_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/tally_units.hpp"
#include "report/markdown_rows.hpp"
#include "report/table_doubts.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

/// The letters of a text in lower case.
std::string letters(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte) != 0) result += static_cast<char>(std::tolower(byte));
  }
  return result;
}

/// A cost whose amounts are below the title.
std::optional<Cost> cost_of_title(const std::string& title) {
  const std::string word = letters(title);
  for (const CostTraits& row : kCosts) {
    if (word == letters(row.amount_title)) return row.cost;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_whole(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "4" (MiB), "64 KiB", "64K", "1000 B"
std::optional<std::uint64_t> parse_table_size(std::string text) {
  std::erase(text, ' ');
  if (parse_whole(text)) text += 'M';
  for (const std::string_view ending : {"iB", "B"}) {
    if (text.ends_with(ending)) {
      text.resize(text.size() - ending.size());
      break;
    }
  }
  const auto bytes = parse_bytes(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

/// Operations in a text of letters only; "allreduce" does not name reduce.
std::vector<OpKind> named_ops(std::string prose) {
  std::vector<OpTraits> longest_first(kOpTraits.begin(), kOpTraits.end());
  std::ranges::stable_sort(longest_first, std::greater<>{}, [](const OpTraits& row) { return row.name.size(); });
  std::vector<OpKind> ops;
  for (const OpTraits& row : longest_first) {
    const std::string word = letters(row.name);
    std::size_t at = prose.find(word);
    if (at != std::string::npos && !is_message(row.kind)) ops.push_back(row.kind);
    for (; at != std::string::npos; at = prose.find(word)) prose.replace(at, word.size(), " ");
  }
  return ops;
}

/// Builds the table row by row.
class Importer {
 public:
  Importer(const std::string& name) : where_(name) { table_.title = name; }

  void add(const MarkdownRow& row) {
    if (row.is_text()) return;
    if (std::ranges::all_of(row.cells, &std::string::empty)) return;
    if (begin_part(row.cells)) return;
    if (amounts_.empty()) return;  // a table of something else
    const auto bytes = parse_table_size(row.cells.front());
    if (!bytes) {
      remark(row, concat('"', row.cells.front(), "\" is no size; the row is left out"));
      return;
    }
    for (const std::size_t amount : amounts_) add_cell(row, *bytes, amount);
  }

  /// The lines of iprof that belong to a backend of the table begin with its name.
  void add_header_line(const std::string& text) {
    const std::size_t end = text.rfind('|');
    if (end == std::string::npos || text.find("Hostnames |") == std::string::npos) return;
    for (ComparisonColumn& column : table_.columns) {
      if (text.starts_with(column.name + ' ')) column.header_lines.push_back(text.substr(0, end + 1));
    }
  }

  [[nodiscard]] ComparisonTable finish() && {
    if (table_.columns.empty()) {
      throw Error(ErrorCode::config,
                  concat(where_,
                         ": no comparison table is in it; its rows of titles hold \"Total CPU Time\", \"Total "
                         "GPU Time\" or \"Total Mem Bytes\", and rows of sizes follow"));
    }
    for (ComparisonColumn& column : table_.columns) {
      for (const std::uint64_t bytes : table_.sizes()) (void)column.by_size[bytes];
    }
    return std::move(table_);
  }

 private:
  bool begin_part(const std::vector<std::string>& cells) {
    std::vector<std::size_t> amounts;
    std::optional<Cost> cost;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const auto found = cost_of_title(cells[i]);
      if (!found) continue;
      cost = found;
      amounts.push_back(i);
    }
    if (!cost) return false;
    cost_ = *cost;
    amounts_ = std::move(amounts);
    return true;
  }

  void add_cell(const MarkdownRow& row, std::uint64_t bytes, std::size_t amount) {
    const auto text_at = [&](std::size_t i) { return i < row.cells.size() ? row.cells[i] : std::string(); };
    const std::string name = text_at(amount - 1);
    if (amount < 2 || name.empty()) {
      if (!text_at(amount).empty())
        remark(row, concat('"', text_at(amount), "\" has no name of a backend before it; it is left out"));
      return;
    }
    ComparisonCells& cells = column_of(name).by_size[bytes];
    ComparisonCell& cell = cells[static_cast<std::size_t>(cost_)];
    if (!cell.is_empty()) {
      remark(row, concat(name, " has ", format_bytes(bytes), " for the second time in this part; it is left out"));
      return;
    }
    cell = read_cell(text_at(amount));
    cell.calls = parse_whole(text_at(amount + 1));
    if (!cell.calls && !text_at(amount + 1).empty())
      remark(row, concat(name, ": \"", text_at(amount + 1), "\" is no number of calls; it is left out"));
  }

  [[nodiscard]] ComparisonCell read_cell(const std::string& text) const {
    const std::span<const base::TallyUnit> units =
        traits(cost_).is_bytes ? std::span(base::kTallyByteUnits) : std::span(base::kTallyTimeUnits);
    ComparisonCell cell{.amount = base::parse_tally_units(text, units)};
    if (!cell.amount) cell.text = text;
    return cell;
  }

  ComparisonColumn& column_of(const std::string& name) {
    const auto found = std::ranges::find(table_.columns, name, &ComparisonColumn::name);
    if (found != table_.columns.end()) return *found;
    table_.columns.push_back({.name = name, .by_size = {}});
    return table_.columns.back();
  }

  void remark(const MarkdownRow& row, const std::string& text) {
    table_.remarks.push_back(concat("line ", row.line, ": ", text));
  }

  std::string where_;
  ComparisonTable table_ = {};
  Cost cost_ = Cost::host;
  std::vector<std::size_t> amounts_ = {};  ///< columns with amounts of the part
};

}  // namespace

ComparisonTable imported_table(std::string_view markdown, const std::string& name) {
  const std::vector<MarkdownRow> rows = markdown_rows(markdown, name);
  Importer importer(name);
  std::string prose;
  for (const MarkdownRow& row : rows) {
    importer.add(row);
    prose += letters(row.text);
  }
  for (const MarkdownRow& row : rows) importer.add_header_line(row.text);
  ComparisonTable table = std::move(importer).finish();
  table.ops = named_ops(prose);
  mark_doubts(table);
  return table;
}

ComparisonTable read_imported_table(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file)
    throw Error(ErrorCode::system, concat(path, ": cannot be read; give a file with a comparison table in Markdown"));
  ComparisonTable table = imported_table(text, path);
  table.title = std::filesystem::path(path).stem().string();
  return table;
}

}  // namespace tutti::tools
