#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "analysis/changes.hpp"
#include "analysis/guidelines.hpp"
#include "report/html/html_parts.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string time_cell(const SweepRow& row) {
  if (!row.ok()) return element("td", concat(" class=\"bad\"", attribute("title", row.status)), "✕ failed");
  return element("td", attribute("data-value", exact_number(row.time_us_p50)), time_text(row.time_us_p50));
}

std::string_view css_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::slower:
    case ChangeKind::broken:
      return "slower";
    case ChangeKind::faster:
    case ChangeKind::repaired:
      return "faster";
    case ChangeKind::none:
      break;
  }
  return "none";
}

/// A cell of the matrix of ratios: the colour is strongest where the time doubled or halved.
std::string ratio_cell(const Change& change) {
  if (change.kind == ChangeKind::broken) return "<td class=\"bad\">✕ fails now</td>";
  if (change.kind == ChangeKind::repaired) return "<td class=\"change-faster\">failed before</td>";
  if (change.ratio == 0) return "<td class=\"none\">✕</td>";
  const double strength = change.kind == ChangeKind::none ? 0 : std::min(std::abs(std::log2(change.ratio)), 1.0);
  const std::string_view sign = change.kind == ChangeKind::slower   ? "▲ "
                                : change.kind == ChangeKind::faster ? "▼ "
                                                                    : "";
  const std::string title = concat(time_text(change.before->time_us_p50), " → ", time_text(change.after->time_us_p50));
  return element("td",
                 concat(attribute("class", concat("ratio-", css_of(change.kind))), attribute("title", title),
                        fmt::format(" style=\"--heat:{:.2f}\"", 0.25 + strength * 0.75)),
                 concat(sign, three_digits(change.ratio), "×"));
}

/// Ratios of all cells: a row for each operation on each backend, a column for each size.
std::string ratio_matrix(const ReportModel& model, const std::vector<Change>& changes) {
  std::map<std::pair<CellKey, std::size_t>, std::map<std::uint64_t, const Change*>> rows;
  std::set<std::uint64_t> sizes;
  for (const Change& change : changes) {
    sizes.insert(change.key.cell.bytes);
    rows[{panel_key(change.key), model.backend_index(change.before->backend)}][change.key.cell.bytes] = &change;
  }
  std::string head = "<th scope=\"col\" class=\"text\">operation</th><th scope=\"col\" class=\"text\">backend</th>";
  for (const std::uint64_t size : sizes) head += element("th", " scope=\"col\"", format_bytes(size));
  std::string body;
  for (const auto& [key, cells] : rows) {
    std::string row = element("th", " scope=\"row\" class=\"text\"", escape_html(group_text(key.first)));
    row += element("td", " class=\"text\"", backend_html(key.second, model.backends[key.second]));
    for (const std::uint64_t size : sizes) {
      const auto found = cells.find(size);
      row += found == cells.end() ? "<td></td>" : ratio_cell(*found->second);
    }
    body += element("tr", "", row);
  }
  return table_html("ratios fixed", element("tr", "", head), body);
}

std::string change_row(const ReportModel& model, const Change& change) {
  std::string cells = element("td", " class=\"text\"", escape_html(group_text(change.key)));
  cells += element("td", attribute("data-value", std::to_string(change.key.cell.bytes)),
                   format_bytes(change.key.cell.bytes));
  cells += element("td", " class=\"text\"",
                   backend_html(model.backend_index(change.before->backend), change.before->backend));
  cells += time_cell(*change.before) + time_cell(*change.after);
  cells += change.ratio == 0 ? "<td class=\"none\">–</td>"
                             : element("td", attribute("data-value", exact_number(change.ratio)),
                                       concat(three_digits(change.ratio), "×"));
  const std::string kind(name(change.kind));
  cells += element("td", attribute("class", concat("text change-", css_of(change.kind))),
                   kind.empty() ? "within the noise" : escape_html(kind));
  return element("tr", "", cells);
}

std::string change_table(const ReportModel& model, const std::vector<const Change*>& changes, std::size_t file) {
  std::string head;
  for (const std::string_view title : {"operation", "size", "backend"})
    head += element("th", title == "size" ? " scope=\"col\"" : " scope=\"col\" class=\"text\"", title);
  head += element("th", " scope=\"col\"", escape_html(model.files[0].name));
  head += element("th", " scope=\"col\"", escape_html(model.files[file].name));
  head +=
      "<th scope=\"col\" title=\"time of the second file by that of the first\">ratio</th>"
      "<th scope=\"col\" class=\"text\">change</th>";
  std::string body;
  for (const Change* change : changes) body += change_row(model, *change);
  return table_html("changes", element("tr", "", head), body);
}

/// A table that a reader opens, strongest change first; empty without such changes.
std::string change_list(const ReportModel& model, const std::vector<Change>& changes, std::size_t file,
                        std::string_view css, std::string_view title) {
  std::vector<const Change*> chosen;
  for (const Change& change : changes)
    if (css_of(change.kind) == css) chosen.push_back(&change);
  if (chosen.empty()) return {};
  std::ranges::stable_sort(chosen, std::ranges::greater{}, [](const Change* change) {
    return change->ratio > 0 ? std::abs(std::log2(change->ratio)) : std::numeric_limits<double>::infinity();
  });
  return element("details", " open",
                 concat("<summary>", title, ": ", chosen.size(), "</summary>", change_table(model, chosen, file)));
}

std::string differences(const SweepResults& before, const SweepResults& after) {
  std::vector<std::string> texts;
  const auto compare = [&](std::string_view subject, const std::string& left, const std::string& right) {
    if (left != right)
      texts.push_back(concat(subject, ": ", left.empty() ? "?" : left, " → ", right.empty() ? "?" : right));
  };
  compare("machine", machine_text(before), machine_text(after));
  compare("memory", before.device, after.device);
  compare("tutti", before.head.tutti, after.head.tutti);
  for (const BackendSetup& setup : before.backends) {
    const auto other = std::ranges::find(after.backends, setup.backend, &BackendSetup::backend);
    if (other != after.backends.end()) compare(setup.backend, setup.version, other->version);
  }
  std::string items;
  for (const std::string& text : texts) items += element("li", "", escape_html(text));
  return items.empty() ? items : concat("<p>The measurements differ in</p>", element("ul", "", items));
}

std::string file_changes(const ReportModel& model, std::size_t file) {
  const SweepResults& before = model.files[0].results;
  const SweepResults& after = model.files[file].results;
  const std::vector<Change> changes = compare_results(before, after);
  const auto count = [&](ChangeKind kind) { return std::ranges::count(changes, kind, &Change::kind); };
  std::string html = element("h3", "", escape_html(concat(model.files[file].name, " against ", model.files[0].name)));
  html += differences(before, after);
  if (changes.empty()) return html + "<p>The files have no cell in common.</p>";
  html += concat("<p class=\"counts\"><span class=\"change-slower\">▲ ", count(ChangeKind::slower),
                 " slower</span>, <span class=\"change-faster\">▼ ", count(ChangeKind::faster), " faster</span>, ",
                 count(ChangeKind::none), " within the noise, ", count(ChangeKind::broken), " fail now, ",
                 count(ChangeKind::repaired), " failed before. Ratios are the time in ",
                 escape_html(model.files[file].name), " by that in the first file.</p>");
  html += ratio_matrix(model, changes);
  html += change_list(model, changes, file, "slower", "Slower or failing");
  html += change_list(model, changes, file, "faster", "Faster or repaired");
  html += change_list(model, changes, file, "none", "Within the noise");

  return html;
}

}  // namespace

std::string changes_html(const ReportModel& model) {
  std::string html;
  for (std::size_t file = 1; file < model.files.size(); ++file) html += file_changes(model, file);
  return section_html("changes", "Changes beyond the noise", html);
}

std::string guidelines_html(const ReportModel& model) {
  std::string body;
  for (const NamedResults& file : model.files) {
    for (const BrokenGuideline& broken : find_broken_guidelines(file.results)) {
      const std::string name =
          model.files.size() == 1 ? broken.row->backend : concat(broken.row->backend, " · ", file.name);
      std::string cells =
          element("td", " class=\"text\"", backend_html(model.backend_index(broken.row->backend), name));
      cells += element("td", " class=\"text\"", escape_html(group_text(broken.key)));
      cells +=
          element("td", attribute("data-value", std::to_string(broken.row->bytes)), format_bytes(broken.row->bytes));
      cells += time_cell(*broken.row);
      cells += element("td", " class=\"text\"", escape_html(broken.way()));
      cells += element("td", attribute("data-value", exact_number(broken.parts_us)), time_text(broken.parts_us));
      cells += element("td", concat(" class=\"bad\"", attribute("data-value", exact_number(broken.factor))),
                       concat(three_digits(broken.factor), "×"));
      body += element("tr", "", cells);
    }
  }
  if (body.empty()) return {};
  constexpr std::string_view kHead =
      "<tr><th scope=\"col\" class=\"text\">backend</th><th scope=\"col\" class=\"text\">operation</th>"
      "<th scope=\"col\">size</th><th scope=\"col\">time</th><th scope=\"col\" class=\"text\">faster way</th>"
      "<th scope=\"col\">its time</th><th scope=\"col\">factor</th></tr>";
  return section_html(
      "guidelines", "Performance guidelines that a backend breaks",
      concat("<p class=\"remark\">Other operations of the same backend do the work of this call in less "
             "time, beyond the noise.</p>",
             table_html("guidelines", kHead, body)));
}

}  // namespace tutti::tools
