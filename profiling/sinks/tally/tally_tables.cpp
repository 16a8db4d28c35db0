#include "sinks/tally/tally_tables.hpp"

#include <functional>
#include <optional>
#include <tuple>

#include "sinks/kernel_name.hpp"
#include "sinks/lookup.hpp"

namespace tutti::profiling {
namespace {

/// The topic that a row belongs to, or nothing for rows that iprof's tables do not show.
std::optional<TallyTopic> topic_of(const TallyRow& row, const std::set<int>& sources_with_calls) {
  switch (row.kind) {
    case Kind::host:
      return TallyTopic::host;
    case Kind::operation:
      if (sources_with_calls.contains(row.source)) return std::nullopt;
      return TallyTopic::host;
    case Kind::device:
      return TallyTopic::device;
    case Kind::traffic:
      return TallyTopic::traffic;
    case Kind::allocation:
    case Kind::release:
    case Kind::stage:
      break;
  }
  return std::nullopt;
}

TallyPlace place_of(const Profile& profile, const TallyRow& row, TallyTopic topic) {
  TallyPlace place{.host = {}, .thread = row.thread};
  if (const ProcessRow* process = row_at(profile.processes, row.process); process != nullptr) {
    place.host = process->host;
    place.process = process->pid;
  }
  const DeviceRow* device = topic == TallyTopic::device ? row_at(profile.devices, row.device) : nullptr;
  if (device != nullptr) {
    place.device = device->device;
    place.sub_device = device->sub_device;
  }
  return place;
}

}  // namespace

std::vector<TallyTable> tally_tables(const Profile& profile) {
  std::set<int> sources_with_calls;
  for (const TallyRow& row : profile.rows) {
    const SourceRow* source = row_at(profile.sources, row.source);
    // Tutti's own functions are its operations; calls of libraries that no title is known for are beside them.
    const bool is_own = source != nullptr && source->title == "BACKEND_TUTTI";
    if (row.kind == Kind::host && !is_own) sources_with_calls.insert(row.source);
  }
  std::map<std::pair<TallyTopic, int>, TallyTable, std::less<>> tables;  // by descending level
  for (const TallyRow& row : profile.rows) {
    const std::optional<TallyTopic> topic = topic_of(row, sources_with_calls);
    if (!topic || row.statistics.calls == 0) continue;
    const SourceRow* source = row_at(profile.sources, row.source);
    const int level = *topic == TallyTopic::device || source == nullptr ? 0 : source->level;
    TallyTable& table = tables[{*topic, -level}];
    table.topic = *topic;
    table.level = level;
    table.titles.insert(source == nullptr ? "BACKEND_UNKNOWN" : source->title);
    const Statistics& values = row.statistics;
    table.places[place_of(profile, row, *topic)][*topic == TallyTopic::device ? kernel_name(row.name) : row.name].add(
        {values.calls, values.errors, values.total, values.min, values.max});
  }
  std::vector<TallyTable> ordered;
  for (auto& [key, table] : tables) ordered.push_back(std::move(table));
  return ordered;
}

TallyRows merged_rows(const TallyTable& table) {
  TallyRows merged;
  for (const auto& [place, rows] : table.places) {
    for (const auto& [name, sum] : rows) merged[name].add(sum);
  }
  return merged;
}

std::vector<std::pair<std::string, TallySum>> sorted_with_total(const TallyRows& rows) {
  std::vector<std::pair<std::string, TallySum>> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, std::greater<>{},
                           [](const auto& row) { return std::tuple(row.second.total, row.second.calls); });
  TallySum total;
  for (const auto& [name, sum] : sorted) total.add(sum);
  sorted.emplace_back("Total", total);
  return sorted;
}

}  // namespace tutti::profiling
