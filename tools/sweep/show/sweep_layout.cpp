#include "sweep/show/sweep_layout.hpp"

#include <algorithm>
#include <set>

#include "analysis/statistics.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

bool is_on_device(const SweepResults& results) {
  const auto is_known = [](const SweepRow& row) { return !row.rank_devices.empty(); };
  if (std::ranges::none_of(results.rows, is_known)) return results.device != "host";
  return std::ranges::any_of(results.rows, [](const SweepRow& row) {
    return std::ranges::any_of(row.rank_devices, [](const std::string& device) { return device != "host"; });
  });
}

bool has_runs(const SweepRow& row) { return row.ok() && row.run_medians_us.size() > 1; }

bool is_of(const SweepRow& row, const SweepSection& section) {
  return row.cell.op == section.op && row.ranks == section.ranks && row.cell.in_place == section.in_place;
}

/// "+-: half of the 98.4 % confidence interval of the median of 7 runs"
std::string interval_legend(const SweepResults& results) {
  std::size_t least = 0;
  std::size_t most = 0;
  double confidence = 1;
  for (const SweepRow& row : results.rows) {
    if (!has_runs(row)) continue;
    const std::size_t runs = row.run_medians_us.size();
    least = least == 0 ? runs : std::min(least, runs);
    most = std::max(most, runs);
    confidence = std::min(confidence, median_interval(row.run_medians_us).confidence);
  }
  return concat(" +-: half the width of the ", three_digits(confidence * 100),
                " % confidence interval of the median of ", least == most ? "" : concat(least, " to "), most, " runs;");
}

/// "native up to 1 MiB, ccl from 2 MiB on": the libraries that served the sizes of a backend in a section.
std::string served_by(const SweepResults& results, const SweepSection& section, const std::string& backend) {
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : results.rows) {
    if (row.backend == backend && row.ok() && is_of(row, section)) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, &SweepRow::bytes);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    while (end < rows.size() && rows[end]->served_by == rows[i]->served_by) ++end;
    const std::string& leaf = rows[i]->served_by;
    const std::string from = i == 0 ? "" : concat(" from ", size_text(rows[i]->bytes));
    const std::string to =
        end == rows.size() ? "" : concat(i == 0 ? " up to " : " to ", size_text(rows[end - 1]->bytes));
    if (!leaf.empty() && (leaf != backend || rows.size() != end - i)) parts.push_back(leaf + from + to);
    i = end;
  }
  return join(parts, ", ");
}

std::string problem_of(const SweepRow& row) {
  std::string text = row.ok() ? "" : row.status;
  std::string note = row.note;
  // The ranks may have said it in their note, in other words.
  const auto add = [&](bool is_so, const std::string& fact, const std::string& sentence) {
    if (is_so && note.find(fact) == std::string::npos) note += concat(note.empty() ? "" : "; ", sentence);
  };
  add(!row.emulated.empty(), row.emulated, concat("emulated by ", row.emulated));
  add(row.is_staged, "staged through host memory", "staged through host memory");
  if (text.empty()) return note;
  return text + (note.empty() ? "" : " (" + note + ")");
}

}  // namespace

SweepLayout::SweepLayout(const SweepResults& results)
    : has_device(is_on_device(results)), has_interval(std::ranges::any_of(results.rows, has_runs)) {
  group_width = kTimeWidth + 1 + kBandwidthWidth + kMarkWidth;
  if (has_device) group_width += 1 + kDeviceWidth;
  if (has_interval) group_width += 1 + kIntervalWidth;
}

std::string short_status(const std::string& status, std::size_t width) {
  std::string text = status;
  if (text.size() > width) text = text.substr(0, text.find_first_of(":("));
  if (text.size() > width) text.resize(width);
  return std::string(trim(text));
}

std::vector<SweepSection> sections_of(const SweepResults& results, OpKind op) {
  std::set<SweepSection> sections;
  for (const SweepRow& row : results.rows) {
    if (row.cell.op == op) sections.insert({op, row.ranks, row.cell.in_place});
  }
  if (sections.empty()) sections.insert({op, results.ranks, false});
  return {sections.begin(), sections.end()};
}

std::vector<int> rank_counts(const SweepResults& results) {
  std::set<int> counts;
  for (const OpKind op : results.ops) {
    for (const SweepSection& section : sections_of(results, op)) counts.insert(section.ranks);
  }
  return {counts.begin(), counts.end()};
}

std::string table_legend(const SweepResults& results) {
  const SweepLayout layout(results);
  std::string text = "time: median of the calls, each timed by its slowest rank;";
  if (layout.has_interval) text += interval_legend(results);
  const std::vector<int> counts = rank_counts(results);
  text += concat(" GB/s: bus bandwidth as nccl-tests defines it",
                 !counts.empty() && counts.front() == 1 ? ", with 1 rank size by time" : "",
                 "; *: fastest backend at this size.");
  if (layout.has_device) {
    text +=
        " device: busy time of the device during a call, on the rank where it was longest, measured in extra calls, "
        "which observation makes slower;";
    const bool any_span = std::ranges::any_of(results.rows, [](const SweepRow& row) { return row.device.is_span; });
    text +=
        any_span
            ? " ~: from the time the device's queue reached the library's operation until its end, including its wait "
              "for other ranks;"
            : "";
    text.back() = '.';
  }
  const bool any_result = std::ranges::any_of(results.rows, &SweepRow::ok);
  return text + (any_result ? " Every result was checked." : "");
}

std::vector<std::string> table_notes(const SweepResults& results) {
  std::vector<std::string> notes;
  const std::size_t width = SweepLayout(results).group_width;
  const bool with_ranks = rank_counts(results).size() > 1;
  // A status that is the same at many sizes is printed once.
  std::set<std::string> seen;
  for (const SweepRow& row : results.rows) {
    const std::string problem = problem_of(row);
    const bool all_said = !row.ok() && row.note.empty() && short_status(row.status, width) == row.status;
    const std::string title = section_title({row.cell.op, row.ranks, row.cell.in_place}, with_ranks && !row.ok());
    if (problem.empty() || all_said || !seen.insert(concat(row.backend, title, problem)).second) continue;
    const std::string where = row.ok() ? "" : concat(" at ", size_text(row.bytes));
    notes.push_back(concat(row.backend, ", ", title, where, ": ", problem));
  }
  for (const OpKind op : results.ops) {
    for (const SweepSection& section : sections_of(results, op)) {
      for (const BackendSetup& setup : results.backends) {
        const std::string leaves = served_by(results, section, setup.backend);
        if (!leaves.empty())
          notes.push_back(concat(setup.backend, ", ", section_title(section, with_ranks), ": served by ", leaves));
      }
    }
  }
  for (const UnusableBackend& backend : results.unusable)
    notes.push_back(concat(backend.name, ": not measured: ", backend.reason));
  return notes;
}

}  // namespace tutti::tools
