#include "prof/profile_filter.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace tutti::tools {
namespace {

using profiling::Kind;
using profiling::Profile;

bool matches(const std::string& pattern, const std::string& text) {
  return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool has_rank(const ProfileFilter& filter, const Profile& profile, int process) {
  if (filter.ranks.empty()) return true;
  return process >= 0 && filter.ranks.contains(profile.processes[static_cast<std::size_t>(process)].rank);
}

/// Whether the filter keeps a record with these facts; `own_bytes`: the size that it has without an operation.
bool keeps(const ProfileFilter& filter, const Profile& profile, Kind kind, int process, int context,
           const std::string& name, const std::string& region, std::uint64_t own_bytes) {
  if (!has_rank(filter, profile, process) || !matches(filter.function, name) || !matches(filter.region, region))
    return false;
  const auto* const cause = context >= 0 ? &profile.contexts[static_cast<std::size_t>(context)] : nullptr;
  const std::string operation = cause != nullptr ? cause->operation : kind == Kind::operation ? name : std::string();
  if (!matches(filter.operation, operation)) return false;
  const std::uint64_t bytes = cause != nullptr ? cause->bytes : own_bytes;
  return bytes >= filter.least_bytes && bytes <= filter.most_bytes;
}

template <typename Row>
int add_rows(std::vector<Row>& target, const std::vector<Row>& rows) {
  const int offset = static_cast<int>(target.size());
  target.insert(target.end(), rows.begin(), rows.end());
  return offset;
}

void shift(int& index, int offset) {
  if (index >= 0) index += offset;
}

}  // namespace

bool ProfileFilter::is_empty() const {
  return ranks.empty() && operation.empty() && function.empty() && region.empty() && least_bytes == 0 &&
         most_bytes == UINT64_MAX;
}

void apply_filter(Profile& profile, const ProfileFilter& filter) {
  if (filter.is_empty()) return;
  std::erase_if(profile.rows, [&](const auto& row) {
    const std::uint64_t calls = std::max<std::uint64_t>(row.statistics.calls, 1);
    return !keeps(filter, profile, row.kind, row.process, row.context, row.name, row.region,
                  row.statistics.bytes / calls);
  });
  std::erase_if(profile.events, [&](const auto& event) {
    return !keeps(filter, profile, event.kind, event.process, event.context, profile.names[event.name],
                  profile.names[event.region], event.bytes);
  });
  // Memory is counted per owner only; a choice of operations leaves nothing of it to show.
  const bool only_ranks = filter.operation.empty() && filter.function.empty() && filter.region.empty() &&
                          filter.least_bytes == 0 && filter.most_bytes == UINT64_MAX;
  std::erase_if(profile.memory,
                [&](const auto& row) { return !only_ranks || !has_rank(filter, profile, row.process); });
}

void drop_device_work(Profile& profile) {
  std::erase_if(profile.rows, [](const auto& row) { return row.kind == Kind::device; });
  std::erase_if(profile.events, [](const auto& event) { return event.kind == Kind::device; });
}

void append_profile(Profile& target, const Profile& other) {
  const auto names = static_cast<std::uint32_t>(add_rows(target.names, other.names));
  const int devices = add_rows(target.devices, other.devices);
  const int contexts = add_rows(target.contexts, other.contexts);
  const int processes = add_rows(target.processes, other.processes);
  const int communicators = add_rows(target.communicators, other.communicators);
  for (auto i = static_cast<std::size_t>(communicators); i < target.communicators.size(); ++i)
    shift(target.communicators[i].process, processes);
  // Tables are by source: the same one has one row.
  std::vector<int> source_of;
  for (const auto& source : other.sources) {
    const auto found = std::ranges::find(target.sources, source.title, &profiling::SourceRow::title);
    source_of.push_back(static_cast<int>(found - target.sources.begin()));
    if (found == target.sources.end()) target.sources.push_back(source);
  }
  const auto move = [&](auto& row) {
    if (row.source >= 0) row.source = source_of[static_cast<std::size_t>(row.source)];
    shift(row.process, processes);
    shift(row.device, devices);
  };
  for (auto row : other.rows) {
    move(row);
    shift(row.context, contexts);
    target.rows.push_back(std::move(row));
  }
  for (auto row : other.memory) {
    move(row);
    target.memory.push_back(std::move(row));
  }
  for (auto event : other.events) {
    move(event);
    shift(event.context, contexts);
    shift(event.communicator, communicators);
    event.name += names;
    if (event.region != 0) event.region += names;
    target.events.push_back(event);
  }
  target.warnings.insert(target.warnings.end(), other.warnings.begin(), other.warnings.end());
}

}  // namespace tutti::tools
