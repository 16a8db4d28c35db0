#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/profile.hpp"

/// Builds profiles by hand for the tests of the sinks.
namespace tutti::profiling::test {

/// Adds the values one by one; those in `errors` fail.
[[nodiscard]] inline Statistics statistics(const std::vector<std::uint64_t>& values, std::uint64_t errors = 0) {
  Statistics sum;
  sum.calls = values.size() + errors;
  sum.errors = errors;
  for (const std::uint64_t value : values) {
    sum.total += value;
    sum.min = std::min(sum.min, value);
    sum.max = std::max(sum.max, value);
    sum.values.add(value);
  }
  return sum;
}

class ProfileBuilder {
 public:
  int source(std::string title, int level) {
    profile.sources.push_back({std::move(title), level});
    return static_cast<int>(profile.sources.size()) - 1;
  }
  int process(std::string host, std::uint32_t pid, int rank, int size = 2) {
    ProcessRow row;
    row.host = std::move(host);
    row.pid = pid;
    row.rank = rank;
    row.size = size;
    row.ended = true;
    profile.processes.push_back(std::move(row));
    return static_cast<int>(profile.processes.size()) - 1;
  }
  int device(std::uint64_t device, std::uint64_t sub_device) {
    profile.devices.push_back({"Test GPU", device, sub_device});
    return static_cast<int>(profile.devices.size()) - 1;
  }
  int context(std::string operation, std::uint64_t bytes, std::string backend = "native", std::string label = "") {
    profile.contexts.push_back({std::move(operation), "float32", std::move(backend), std::move(label), bytes, 2});
    return static_cast<int>(profile.contexts.size()) - 1;
  }
  int communicator(std::uint64_t key, int process, int rank, int size, std::string name = "world") {
    profile.communicators.push_back({key, std::move(name), process, rank, size});
    return static_cast<int>(profile.communicators.size()) - 1;
  }
  TallyRow& row(Kind kind, int source, int process, std::uint32_t thread, std::string name, Statistics values) {
    TallyRow& added = profile.rows.emplace_back();
    added.kind = kind;
    added.source = source;
    added.process = process;
    added.thread = thread;
    added.name = std::move(name);
    added.statistics = std::move(values);
    return added;
  }
  std::uint32_t name(std::string text) {
    profile.names.push_back(std::move(text));
    return static_cast<std::uint32_t>(profile.names.size()) - 1;
  }
  EventRow& event(Kind kind, int process, std::uint32_t thread, std::uint64_t begin_ns, std::uint64_t end_ns) {
    EventRow& added = profile.events.emplace_back();
    added.kind = kind;
    added.process = process;
    added.thread = thread;
    added.begin_ns = begin_ns;
    added.end_ns = end_ns;
    return added;
  }

  Profile profile;
};

}  // namespace tutti::profiling::test
