#include "sinks/operation_sums.hpp"

#include <algorithm>
#include <map>

#include "session/owner_names.hpp"

namespace tutti::profiling {
namespace {

std::vector<SplitKey> ordered_keys(const std::map<SplitKey, OperationSum>& groups) {
  std::map<SplitKey, std::uint64_t> weights;  // of every beginning of a key
  for (const auto& [key, group] : groups) {
    for (std::size_t length = 1; length <= key.size(); ++length) {
      weights[SplitKey(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(length))] += group.weight();
    }
  }
  std::vector<SplitKey> keys;
  for (const auto& [key, group] : groups) keys.push_back(key);
  std::ranges::stable_sort(keys, [&](const SplitKey& a, const SplitKey& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (a[i].number != b[i].number) return a[i].number < b[i].number;
      const auto end = static_cast<std::ptrdiff_t>(i) + 1;
      const std::uint64_t weight_a = weights.at(SplitKey(a.begin(), a.begin() + end));
      const std::uint64_t weight_b = weights.at(SplitKey(b.begin(), b.begin() + end));
      return weight_a != weight_b ? weight_a > weight_b : a[i] < b[i];
    }
    return false;
  });
  return keys;
}

}  // namespace

void OperationSum::add(const TallyRow& row) {
  const Statistics& values = row.statistics;
  switch (row.kind) {
    case Kind::operation:
      operations.add(values);
      break;
    case Kind::host:
      host_calls += values.calls;
      host_ns += values.total;
      break;
    case Kind::device:
      device_ns += values.total;
      break;
    case Kind::traffic:
      traffic += values.total;
      break;
    case Kind::allocation:
      if (row.name == kUsedOnDevice) return;
      allocated += values.total;
      break;
    case Kind::release:
    case Kind::stage:
      return;
  }
  errors += values.errors;
}

void OperationSum::add(const OperationSum& other) {
  operations.add(other.operations);
  host_calls += other.host_calls;
  host_ns += other.host_ns;
  errors += other.errors;
  device_ns += other.device_ns;
  traffic += other.traffic;
  allocated += other.allocated;
}

double OperationSum::average_ns() const noexcept {
  const std::uint64_t succeeded = operations.calls - std::min(operations.errors, operations.calls);
  return succeeded == 0 ? 0 : static_cast<double>(operations.total) / static_cast<double>(succeeded);
}

std::vector<std::pair<SplitKey, OperationSum>> operation_sums(const Profile& profile, const std::vector<SplitBy>& by) {
  const SplitKeys keys(profile);
  std::map<SplitKey, OperationSum> sums;
  for (const TallyRow& row : profile.rows) {
    if (row.statistics.calls == 0) continue;
    SplitKey key;
    for (const SplitBy field : by) key.push_back(keys.value(row, field));
    sums[std::move(key)].add(row);
  }
  std::vector<std::pair<SplitKey, OperationSum>> ordered;
  for (const SplitKey& key : ordered_keys(sums)) ordered.emplace_back(key, sums.at(key));
  return ordered;
}

}  // namespace tutti::profiling
