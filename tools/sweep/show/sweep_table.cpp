#include "sweep/show/sweep_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "analysis/statistics.hpp"
#include "sweep/show/sweep_layout.hpp"
#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

const SweepRow* find_row(const SweepResults& results, const SweepCell& cell, int ranks, const std::string& backend) {
  const auto found = std::ranges::find_if(results.rows, [&](const SweepRow& row) {
    return row.cell == cell && row.ranks == ranks && row.backend == backend;
  });
  return found == results.rows.end() ? nullptr : &*found;
}

const SweepRow* fastest(const SweepResults& results, const SweepCell& cell, int ranks) {
  const SweepRow* best = nullptr;
  int competitors = 0;
  for (const SweepRow& row : results.rows) {
    if (row.cell != cell || row.ranks != ranks || !row.ok()) continue;
    ++competitors;
    if (best == nullptr || row.time_us_p50 < best->time_us_p50) best = &row;
  }
  return competitors > 1 ? best : nullptr;
}

std::string device_text(const DeviceUse& device) {
  if (device.calls == 0) return "-";
  return (device.is_span ? "~" : "") + format_time_us(device.time_us);
}

/// "1.2%", "12%" from 10 % on, ">999%".
std::string interval_text(const SweepRow& row) {
  if (row.run_medians_us.size() < 2) return "-";
  const double percent = 100 * median_interval(row.run_medians_us).relative(row.time_us_p50);
  if (percent > 999) return ">999%";
  return concat(percent < 9.95 ? std::round(percent * 10) / 10 : std::round(percent), '%');
}

std::string cell_text(const SweepLayout& layout, const SweepRow* row, const SweepRow* best, const Terminal& terminal) {
  const std::size_t width = layout.group_width;
  if (row == nullptr) return pad("-", width - kMarkWidth, Align::right) + " ";
  if (!row->ok()) return pad(short_status(row->status, width), width, Align::right);
  std::string text = pad(format_time_us(row->time_us_p50), kTimeWidth, Align::right) + " ";
  if (layout.has_interval) text += pad(interval_text(*row), kIntervalWidth, Align::right) + " ";
  if (layout.has_device) text += pad(device_text(row->device), kDeviceWidth, Align::right) + " ";
  text += pad(three_digits(row->shown_gbs()), kBandwidthWidth, Align::right);
  return row == best ? terminal.bold(text + "*") : text + " ";
}

/// Devices of the ranks: " (sycl:0.0 sycl:0.1)", from the job with most ranks; all jobs place ranks alike.
std::string ranks_on(const SweepResults& results) {
  if (!SweepLayout(results).has_device || results.rows.empty()) return {};
  const SweepRow& most =
      *std::ranges::max_element(results.rows, {}, [](const SweepRow& row) { return row.rank_devices.size(); });
  return most.rank_devices.empty() ? "" : concat(" (", join(most.rank_devices, " "), ")");
}

/// The cells of a table: the planned sizes, and the sizes of rows that were not planned now, as in a file that is
/// continued.
std::vector<std::pair<std::uint64_t, SweepCell>> cells_of(const SweepResults& results, const SweepSection& section) {
  std::vector<std::pair<std::uint64_t, SweepCell>> cells;
  std::set<std::uint64_t> known;
  const auto add = [&](SweepCell cell) {
    cell.in_place = section.in_place;
    const std::uint64_t bytes = CellShape(cell, results.type, section.ranks).message_bytes();
    if (known.insert(bytes).second) cells.emplace_back(bytes, cell);
  };
  for (const SweepRow& row : results.rows) {
    if (row.cell.op == section.op && row.ranks == section.ranks && row.cell.in_place == section.in_place) add(row.cell);
  }
  for (const SweepCell& cell : distinct_cells(section.op, results.sizes, results.type, section.ranks)) add(cell);
  std::ranges::sort(cells, {}, &std::pair<std::uint64_t, SweepCell>::first);
  return cells;
}

std::string titles_of(const SweepLayout& layout) {
  std::string titles = "  " + pad("time", kTimeWidth, Align::right) + " ";
  if (layout.has_interval) titles += pad("+-", kIntervalWidth, Align::right) + " ";
  if (layout.has_device) titles += pad("device", kDeviceWidth, Align::right) + " ";
  return titles + pad("GB/s", kBandwidthWidth, Align::right) + " ";
}

std::string section_table(const SweepResults& results, const SweepSection& section,
                          std::span<const BackendSetup> backends, const Terminal& terminal) {
  const SweepLayout layout(results);
  std::string names = std::string(2 + kSizeWidth, ' ');
  std::string titles = "  " + pad("size", kSizeWidth, Align::right);
  std::string rule = "  " + std::string(kSizeWidth, '-');
  for (const BackendSetup& setup : backends) {
    names += "  " + pad(setup.backend + " ", layout.group_width, Align::right);
    titles += titles_of(layout);
    rule += "  " + std::string(layout.group_width, '-');
  }
  std::string text = terminal.bold(names) + "\n" + terminal.bold(titles) + "\n" + terminal.dim(rule) + "\n";
  for (const auto& [bytes, cell] : cells_of(results, section)) {
    const SweepRow* best = fastest(results, cell, section.ranks);
    text += "  " + pad(size_text(bytes), kSizeWidth, Align::right);
    for (const BackendSetup& setup : backends) {
      const SweepRow* row = find_row(results, cell, section.ranks, setup.backend);
      text += "  " + cell_text(layout, row, best, terminal);
    }
    text += "\n";
  }
  return text;
}

std::string heading(const SweepResults& results) {
  std::vector<std::string> counts;
  for (const int ranks : rank_counts(results)) counts.push_back(std::to_string(ranks));
  const std::string runs = setting_value(results.head.settings, "runs");
  const std::string seed = setting_value(results.head.settings, "seed");
  const std::string concurrent = setting_value(results.head.settings, "concurrent");
  std::string text = concat(results.machine, "\n", join(counts, ", "),
                            counts == std::vector<std::string>{"1"} ? " rank, " : " ranks, ", name(results.type), ", ",
                            results.device, " memory", ranks_on(results));
  if (!concurrent.empty() && concurrent != "1") text += concat(", ", concurrent, " communicators at once");
  if (!runs.empty() && runs != "1") text += concat(", ", runs, " runs");
  if (!seed.empty()) text += concat(", random order with --seed ", seed);
  return text + "\n";
}

}  // namespace

std::string to_table(const SweepResults& results, const Terminal& terminal) {
  const std::size_t width = terminal.columns();
  const std::size_t room = width > 2 + kSizeWidth ? width - 2 - kSizeWidth : 0;
  const std::size_t per_block = std::max<std::size_t>(room / (SweepLayout(results).group_width + 2), 1);
  const bool with_ranks = rank_counts(results).size() > 1;
  std::string text = heading(results);
  for (const OpKind op : results.ops) {
    for (const SweepSection& section : sections_of(results, op)) {
      text += concat('\n', terminal.bold(section_title(section, with_ranks)), '\n');
      for (std::size_t first = 0; first < results.backends.size(); first += per_block) {
        const std::size_t count = std::min(per_block, results.backends.size() - first);
        text += first == 0 ? "" : "\n";
        text += section_table(results, section, std::span(results.backends).subspan(first, count), terminal);
      }
    }
  }
  text += "\n";
  for (const std::string& line : wrap(table_legend(results), width - 2)) text += concat("  ", terminal.dim(line), '\n');
  const std::vector<std::string> notes = table_notes(results);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) {
    std::string indent = "  ";
    for (const std::string& piece : wrap(note, width - 6)) {
      text += indent + piece + "\n";
      indent = "      ";
    }
  }
  return text;
}

}  // namespace tutti::tools
