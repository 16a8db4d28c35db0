#include "sinks/tally/tally_text.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <tuple>

#include "base/tally_units.hpp"
#include "sinks/tally/tally_tables.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::profiling {
namespace {

/// iprof's way to shorten a name: its middle is replaced; the second part is the longer one by at most one character.
std::string shortened(const std::string& name, int longest) {
  constexpr std::string_view kGap = "[...]";
  if (longest < 0 || static_cast<std::size_t>(longest) >= name.size()) return name;
  const auto room = static_cast<std::size_t>(longest);
  if (room <= kGap.size()) return std::string(kGap.substr(0, room));
  const std::size_t kept = room - kGap.size();
  const std::size_t front = kept / 2;
  return fmt::format("{}{}{}", name.substr(0, front), kGap, name.substr(name.size() - (kept - front)));
}

enum Column : std::size_t { kName, kValue, kShare, kCalls, kAverage, kMin, kMax, kError, kColumns };
using Cells = std::array<std::string, kColumns>;

Cells cells_of(const std::string& name, const TallySum& sum, const TallySum& total,
               std::span<const base::TallyUnit> units) {
  Cells cells;
  cells[kName] = name;
  cells[kCalls] = std::to_string(sum.calls);
  cells[kError] = std::to_string(sum.errors);
  if (!sum.has_values()) return cells;
  const double all = static_cast<double>(total.total);
  cells[kValue] = base::in_tally_units(sum.total, units);
  cells[kShare] = fmt::format("{:.2f}%", all == 0 ? 0. : 100. * (static_cast<double>(sum.total) / all));
  cells[kAverage] =
      base::in_tally_units(static_cast<double>(sum.total) / static_cast<double>(sum.calls - sum.errors), units);
  cells[kMin] = base::in_tally_units(sum.min, units);
  cells[kMax] = base::in_tally_units(sum.max, units);
  return cells;
}

std::string body(const TallyRows& rows, TallyTopic topic, int longest_name) {
  const bool bytes = topic == TallyTopic::traffic;
  const auto sorted = sorted_with_total(rows);
  const TallySum& total = sorted.back().second;
  std::vector<Cells> lines = {
      {"Name", bytes ? "Byte" : "Time", bytes ? "Byte(%)" : "Time(%)", "Calls", "Average", "Min", "Max", "Error"}};
  for (const auto& [name, sum] : sorted) {
    lines.push_back(cells_of(spi::printable(shortened(name, longest_name), std::string::npos), sum, total,
                             bytes ? std::span(base::kTallyByteUnits) : std::span(base::kTallyTimeUnits)));
  }
  std::array<std::size_t, kColumns> widths = {};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      const bool blank = (i == kError && total.errors == 0) || (&line == &lines.back() && i >= kAverage && i <= kMax);
      text.append(widths[i] - (blank ? 0 : line[i].size()), ' ').append(blank ? "   " : line[i] + " | ");
    }
    text += '\n';
  }
  return text + "\n";
}

/// Distinct hosts, processes, threads, devices and sub-devices: `tuples` counts the same thread number in two
/// processes twice, `distinct` once.
std::array<std::size_t, 5> count(const TallyTable& table, TitleCounts counts) {
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>> parts[5];
  for (const auto& [place, rows] : table.places) {
    const auto& [host, process, thread, device, sub_device] = place;
    if (counts == TitleCounts::tuples) {
      parts[0].emplace(host, 0, 0, 0, 0);
      parts[1].emplace(host, process, 0, 0, 0);
      parts[2].emplace(host, process, thread, 0, 0);
      parts[3].emplace(host, process, thread, device, 0);
      parts[4].emplace(host, process, thread, device, sub_device);
    } else {
      parts[0].emplace(host, 0, 0, 0, 0);
      parts[1].emplace("", process, 0, 0, 0);
      parts[2].emplace("", 0, thread, 0, 0);
      parts[3].emplace("", 0, 0, device, 0);
      parts[4].emplace("", 0, 0, 0, sub_device);
    }
  }
  return {parts[0].size(), parts[1].size(), parts[2].size(), parts[3].size(), parts[4].size()};
}

std::string title_of(const TallyTable& table) {
  const std::string sources = fmt::format("{}", fmt::join(table.titles, ","));
  if (table.topic == TallyTopic::device) return "Device profiling | ";
  if (table.topic == TallyTopic::traffic) return fmt::format("Explicit memory traffic ({}) | ", sources);
  return sources + " | ";
}

std::string compact(const TallyTable& table, const TallyOptions& options) {
  const std::array<std::size_t, 5> counts = count(table, options.counts);
  std::string text = title_of(table);
  text += fmt::format("{} Hostnames | {} Processes | {} Threads | ", counts[0], counts[1], counts[2]);
  if (table.topic == TallyTopic::device) text += fmt::format("{} Devices | {} Subdevices | ", counts[3], counts[4]);
  return text + "\n\n" + body(merged_rows(table), table.topic, options.longest_name);
}

std::string extended(const TallyTable& table, const TallyOptions& options) {
  std::string text;
  for (const auto& [place, rows] : table.places) {
    text += title_of(table);
    if (!place.host.empty()) text += fmt::format("Hostname: {} | ", spi::printable(place.host));
    if (place.process != 0) text += fmt::format("Process: {} | ", place.process);
    if (place.thread != 0) text += fmt::format("Thread: {} | ", place.thread);
    if (place.device != 0) text += fmt::format("Device pointer: {} | ", place.device);
    if (place.sub_device != 0) text += fmt::format("Subdevice pointer: {} | ", place.sub_device);
    text += "\n\n" + body(rows, table.topic, options.longest_name);
  }
  return text;
}

}  // namespace

std::string tally_text(const Profile& profile, const TallyOptions& options) {
  std::string text;
  for (const TallyTable& table : tally_tables(profile)) {
    text += options.extended ? extended(table, options) : compact(table, options);
  }
  return text;
}

}  // namespace tutti::profiling
