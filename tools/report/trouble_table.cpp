#include <algorithm>
#include <map>
#include <set>

#include "analysis/cell_key.hpp"
#include "report/result_tables.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

/// A trouble that several sizes may share.
struct Trouble {
  std::string backend;
  std::string cell;
  std::string reason;
  std::vector<std::uint64_t> bytes;
};

/// "1 MiB", "1 MiB, 2 MiB", "1 MiB ... 512 MiB (10 sizes)"
ReportCell sizes_cell(const std::vector<std::uint64_t>& bytes) {
  std::vector<std::string> raw;
  for (const std::uint64_t size : bytes) raw.push_back(std::to_string(size));
  std::vector<std::string> texts;
  for (const std::uint64_t size : bytes) texts.push_back(format_bytes(size));
  if (texts.size() > 3) {
    const std::string text = concat(texts.front(), " ... ", texts.back(), " (", texts.size(), " sizes)");
    return {text, join(raw, " ")};
  }
  return {join(texts, ", "), join(raw, " ")};
}

class Troubles {
 public:
  void add(const std::string& backend, const CellKey& key, std::uint64_t bytes, const std::string& reason) {
    const std::string cell = group_text(key);
    const auto found = std::ranges::find_if(list_, [&](const Trouble& trouble) {
      return trouble.backend == backend && trouble.cell == cell && trouble.reason == reason;
    });
    if (found == list_.end()) {
      list_.push_back({.backend = backend, .cell = cell, .reason = reason, .bytes = {bytes}});
    } else {
      found->bytes.push_back(bytes);
    }
  }

  [[nodiscard]] const std::vector<Trouble>& list() const noexcept { return list_; }

 private:
  std::vector<Trouble> list_;
};

std::string failure_text(const SweepRow& row) {
  return row.note.empty() ? row.status : concat(row.status, " (", row.note, ')');
}

/// Backends that have a row in a group of cells: they are expected in all its cells.
using Expected = std::map<std::string, std::vector<std::string>>;

Expected expected_backends(const SweepResults& results) {
  Expected expected;
  for (const SweepRow& row : results.rows) {
    std::vector<std::string>& backends = expected[group_text(key_of(row))];
    if (std::ranges::find(backends, row.backend) == backends.end()) backends.push_back(row.backend);
  }
  return expected;
}

}  // namespace

ReportTable trouble_table(const SweepResults& results) {
  Troubles troubles;
  const bool are_counted =
      std::ranges::any_of(results.rows, [](const SweepRow& row) { return row.counts.has_value(); });
  const Expected expected = expected_backends(results);
  for (const auto& [key, rows] : rows_by_cell(results)) {
    for (const std::string& backend : expected.at(group_text(key))) {
      const SweepRow* row = row_of(rows, backend);
      if (row == nullptr) {
        troubles.add(backend, key, rows.front()->bytes, "not measured: the sweep ended before");
      } else if (!row->ok()) {
        troubles.add(backend, key, row->bytes, failure_text(*row));
      } else if (are_counted && !row->counts) {
        troubles.add(backend, key, row->bytes, "not counted: the calls that are counted failed or were not made");
      }
    }
  }
  ReportTable table{.title = "Failed and incomplete cells",
                    .columns = {{"backend", "", Align::left},
                                {"cell", "", Align::left},
                                {"sizes", "bytes", Align::left},
                                {"reason", "", Align::left}},
                    .keys = 3};
  for (const Trouble& trouble : troubles.list())
    table.rows.push_back({trouble.backend, trouble.cell, sizes_cell(trouble.bytes), trouble.reason});
  for (const UnusableBackend& backend : results.unusable)
    table.rows.push_back({backend.name, "", "", "not usable: " + backend.reason});
  return table;
}

}  // namespace tutti::tools
