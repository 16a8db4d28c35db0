#include <algorithm>
#include <nlohmann/json.hpp>

#include "sinks/arrivals.hpp"
#include "sinks/breakdown.hpp"
#include "sinks/lookup.hpp"
#include "sinks/memory_sums.hpp"
#include "sinks/operation_sums.hpp"

namespace tutti::profiling {
namespace {

using nlohmann::json;

/// Changes when a reader of an earlier number would misunderstand the tables.
constexpr int kTablesVersion = 1;

/// Rank, host and process id; the rank is null where none is known.
json place_of(const Profile& profile, int index) {
  const ProcessRow* process = row_at(profile.processes, index);
  if (process == nullptr) return {{"rank", nullptr}, {"host", ""}, {"process", 0}};
  json place = {{"rank", nullptr}, {"host", process->host}, {"process", process->pid}};
  if (process->rank >= 0) place["rank"] = process->rank;
  return place;
}

/// A value of a field: sizes and ranks are numbers, all else is text, and what a row does not have is null.
void add_value(json& row, SplitBy field, const SplitValue& value) {
  json& cell = row[SplitKeys::title(field)];
  const bool outside = field == SplitBy::operation && value.number != 0;  // of calls for no operation
  if (outside || value.text == "-") return;
  const bool rank_known = value.text.find_first_not_of("0123456789") == std::string::npos;
  if (field == SplitBy::size) {
    cell = value.number;
    row["size_name"] = value.text;
  } else if (field == SplitBy::rank && rank_known) {
    cell = value.number;
  } else {
    cell = value.text;
  }
}

json operations_of(const Profile& profile, const std::vector<SplitBy>& by) {
  json rows = json::array();
  for (const auto& [key, sum] : operation_sums(profile, by)) {
    json row = json::object();
    for (std::size_t i = 0; i < key.size(); ++i) add_value(row, by[i], key[i]);
    const Statistics& operations = sum.operations;
    row.update({{"calls", operations.calls},
                {"time", operations.total},
                {"average", sum.average_ns()},
                {"host_calls", sum.host_calls},
                {"host_time", sum.host_ns},
                {"device_time", sum.device_ns},
                {"traffic", sum.traffic},
                {"allocated", sum.allocated},
                {"errors", sum.errors}});
    if (operations.calls > operations.errors) {
      row.update({{"min", operations.min},
                  {"max", operations.max},
                  {"p50", operations.values.quantile(0.5)},
                  {"p90", operations.values.quantile(0.9)},
                  {"p99", operations.values.quantile(0.99)}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json kinds_of(const CommunicatorArrivals& communicator) {
  json kinds = json::array();
  for (const auto& [kind, sum] : communicator.kinds) {
    json last = json::object();
    for (const auto& [rank, times] : sum.last) last[std::to_string(rank)] = times;
    kinds.push_back({{"op", kind.operation},
                     {"size", kind.bytes},
                     {"caller", kind.label},
                     {"region", kind.region},
                     {"calls", sum.operations},
                     {"waited", sum.waited_ns},
                     {"transfer", sum.transfer_ns},
                     {"last", std::move(last)}});
  }
  return kinds;
}

json arrivals_of(const Profile& profile) {
  json communicators = json::array();
  for (const CommunicatorArrivals& communicator : compare_arrivals(profile)) {
    json ranks = json::array();
    for (const auto& [number, rank] : communicator.ranks) {
      json row = {{"rank", number},           {"operations", rank.operations},
                  {"last", rank.last},        {"others_waited", rank.others_waited_ns},
                  {"waited", rank.waited_ns}, {"transfer", rank.transfer_ns}};
      const ProcessRow* process = row_at(profile.processes, rank.process);
      row["host"] = process == nullptr ? "" : process->host;
      ranks.push_back(std::move(row));
    }
    json missing = json::object();
    for (const auto& [rank, times] : communicator.missing) missing[std::to_string(rank)] = times;
    communicators.push_back({{"communicator", communicator.name},
                             {"size", communicator.size},
                             {"compared", communicator.compared},
                             {"incomplete", communicator.incomplete},
                             {"contradictory", communicator.unequal},
                             {"missing", std::move(missing)},
                             {"several_hosts", communicator.several_hosts},
                             {"clock_error", communicator.clock_error_ns},
                             {"ranks", std::move(ranks)},
                             {"operations", kinds_of(communicator)}});
  }
  return communicators;
}

json overlap_of(const Profile& profile) {
  json ranks = json::array();
  for (const RankOverlap& rank : measure_overlap(profile)) {
    json row = place_of(profile, rank.process);
    row.update({{"operations", rank.operations},
                {"asynchronous", rank.asynchronous},
                {"asynchronous_time", rank.asynchronous_ns},
                {"free_time", nullptr}});
    // Without single calls the thread seems free while it waits.
    if (rank.sees_calls) row["free_time"] = rank.free_ns;
    ranks.push_back(std::move(row));
  }
  return ranks;
}

json memory_of(const Profile& profile) {
  json owners = json::array();
  for (const OwnedMemory& owned : memory_by_owner(profile)) {
    owners.push_back({{"owner", owned.owner},
                      {"place", owned.place},
                      {"allocations", owned.allocations},
                      {"allocated", owned.allocated},
                      {"releases", owned.releases},
                      {"released", owned.released},
                      {"peak", owned.peak},
                      {"held", owned.held}});
  }
  json operations = json::array();
  for (const OperationMemory& amount : memory_by_operation(profile)) {
    json row = {{"owner", amount.owner},
                {"allocations", amount.allocations},
                {"allocated", amount.allocated},
                {"releases", amount.releases},
                {"released", amount.released}};
    add_value(row, SplitBy::operation, amount.operation);
    add_value(row, SplitBy::size, amount.size);
    operations.push_back(std::move(row));
  }
  json resident = json::array();
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    const std::uint64_t peak = profile.processes[i].resident_peak;
    if (peak == 0) continue;
    resident.push_back(place_of(profile, static_cast<int>(i)));
    resident.back()["peak"] = peak;
  }
  return {{"owners", std::move(owners)}, {"operations", std::move(operations)}, {"resident", std::move(resident)}};
}

json cost_of(const Profile& profile) {
  json processes = json::array();
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    const ProcessRow& process = profile.processes[i];
    json row = place_of(profile, static_cast<int>(i));
    row.update({{"command", process.command},
                {"records", process.records},
                {"record_time", process.cost_ns},
                {"time", process.recording_ns()},
                {"run", process.run_ns()},
                {"memory", process.file_bytes},
                {"dropped", process.dropped},
                {"dropped_events", process.dropped_events},
                {"ended", process.ended},
                {"problem", process.problem}});
    processes.push_back(std::move(row));
  }
  return processes;
}

}  // namespace

std::string session_json(const Profile& profile, const TallyOptions& options, const std::vector<SplitBy>& by) {
  json document = json::parse(tally_json(profile, options));
  document["tutti"] = {{"version", kTablesVersion},        {"operations", operations_of(profile, by)},
                       {"arrivals", arrivals_of(profile)}, {"overlap", overlap_of(profile)},
                       {"memory", memory_of(profile)},     {"cost", cost_of(profile)},
                       {"warnings", profile.warnings}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tutti::profiling
