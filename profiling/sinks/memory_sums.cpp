#include "sinks/memory_sums.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "session/owner_names.hpp"
#include "sinks/lookup.hpp"

namespace tutti::profiling {

namespace {

/// Rows of the same owner and place become one: sums over the processes, and the highest peak of a process. Of the
/// memory in use on a device every process and source tells the same, so that the row with the highest peak stands for
/// all.
void merge(OwnedMemory& owned, const MemoryRow& row) {
  const bool is_told_by_all = row.owner == kUsedOnDevice;
  if (is_told_by_all && owned.allocations != 0 && row.peak_bytes <= owned.peak) return;
  if (is_told_by_all) owned = {.owner = owned.owner, .place = owned.place};
  owned.allocations += row.allocations;
  owned.allocated += row.allocated_bytes;
  owned.releases += row.releases;
  owned.released += row.released_bytes;
  owned.held += row.held_bytes();
  owned.peak = std::max(owned.peak, row.peak_bytes);
}

}  // namespace

std::vector<OwnedMemory> memory_by_owner(const Profile& profile) {
  const std::vector<std::string> devices = device_names(profile);
  std::map<std::pair<std::string, std::string>, OwnedMemory> owners;
  for (const MemoryRow& row : profile.memory) {
    const bool on_device = row_at(profile.devices, row.device) != nullptr;
    const std::string place = on_device ? devices[static_cast<std::size_t>(row.device)] : "host";
    OwnedMemory& owned = owners[{row.owner, place}];
    owned.owner = row.owner;
    owned.place = place;
    merge(owned, row);
  }
  std::vector<OwnedMemory> sorted;
  for (auto& [key, owned] : owners) sorted.push_back(std::move(owned));
  std::ranges::stable_sort(sorted, std::greater<>{}, &OwnedMemory::allocated);
  return sorted;
}

std::vector<OperationMemory> memory_by_operation(const Profile& profile) {
  const SplitKeys keys(profile);
  std::map<std::tuple<SplitValue, SplitValue, std::string>, OperationMemory> amounts;
  for (const TallyRow& row : profile.rows) {
    if (row.kind != Kind::allocation && row.kind != Kind::release) continue;
    if (row_at(profile.contexts, row.context) == nullptr) continue;
    const std::tuple key(keys.value(row, SplitBy::operation), keys.value(row, SplitBy::size), row.name);
    OperationMemory& amount = amounts[key];
    std::tie(amount.operation, amount.size, amount.owner) = key;
    const bool allocates = row.kind == Kind::allocation;
    (allocates ? amount.allocations : amount.releases) += row.statistics.calls;
    (allocates ? amount.allocated : amount.released) += row.statistics.total;
  }
  std::vector<OperationMemory> list;
  for (auto& [key, amount] : amounts) list.push_back(std::move(amount));
  return list;
}

}  // namespace tutti::profiling
