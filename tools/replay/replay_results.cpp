#include "replay/replay_results.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/size_table.hpp"
#include "text/json_text.hpp"
#include "text/report.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr Align kRight = Align::right;

double mean_us(const RowTotals& row) { return row.calls == 0 ? 0 : row.time_us / static_cast<double>(row.calls); }

std::string ratio_text(double time, double reference) {
  return time <= 0 || reference <= 0 ? "-" : concat(three_digits(time / reference), "x");
}

double fastest_of(const ReplayResults& results, std::size_t row) {
  double fastest = 0;
  for (const ReplayOutcome& outcome : results.outcomes) {
    const double time = outcome.ok() ? mean_us(outcome.rows[row]) : 0;
    if (time > 0 && (fastest == 0 || time < fastest)) fastest = time;
  }
  return fastest;
}

double fastest_wall(const ReplayResults& results) {
  double fastest = 0;
  for (const ReplayOutcome& outcome : results.outcomes) {
    if (outcome.ok() && (fastest == 0 || outcome.wall_us() < fastest)) fastest = outcome.wall_us();
  }
  return fastest;
}

std::string size_text(const ReplayRow& row) { return row.op == OpKind::barrier ? "-" : format_bytes(row.bytes); }

void add_rows(const ReplayResults& results, Report& report) {
  Table table({{"operation"},
               {"size", kRight},
               {"calls", kRight},
               {"bytes", kRight},
               {"on"},
               {"time", kRight},
               {"a call", kRight},
               {"to record", kRight},
               {"to fastest", kRight},
               {"host calls", kRight}});
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const ReplayRow& row = results.rows[i];
    const RowTotals& recorded = results.recorded.rows[i];
    const double reference = mean_us(recorded);
    const std::uint64_t known = recorded.calls + results.recorded.unknown[i];
    std::vector<std::string> begin = {std::string(name(row.op)), size_text(row), std::to_string(known),
                                      format_bytes_rounded(known * row.bytes)};
    const auto add = [&](std::vector<std::string> rest) {
      std::vector<std::string> cells = std::move(begin);
      cells.insert(cells.end(), rest.begin(), rest.end());
      table.add(std::move(cells));
      begin = {"", "", "", ""};
    };
    if (recorded.calls > 0) add({"record", format_time_us(recorded.time_us), format_time_us(reference), "", "", ""});
    for (const ReplayOutcome& outcome : results.outcomes) {
      if (!outcome.ok() || outcome.rows[i].calls == 0) continue;
      const RowTotals& its = outcome.rows[i];
      add({outcome.backend, format_time_us(its.time_us), format_time_us(mean_us(its)),
           ratio_text(mean_us(its), reference), ratio_text(mean_us(its), fastest_of(results, i)),
           three_digits(static_cast<double>(its.host_calls) / static_cast<double>(its.calls))});
    }
  }
  report.heading("Operations", "time of all ranks; host calls per call");
  report.add(table);
}

void add_totals(const ReplayResults& results, Report& report) {
  Table table({{"on"}, {"duration", kRight}, {"to fastest", kRight}, {"in operations", kRight}, {"result"}});
  for (const ReplayOutcome& outcome : results.outcomes) {
    if (!outcome.ok()) {
      table.add(
          {outcome.backend, "-", "-", "-", outcome.status + (outcome.note.empty() ? "" : " (" + outcome.note + ")")});
      continue;
    }
    double busy = 0;
    double wall = 0;
    for (const ReplayedRank& rank : outcome.ranks) {
      busy += rank.busy_us;
      wall += rank.wall_us;
    }
    table.add({outcome.backend, format_time_us(outcome.wall_us()), ratio_text(outcome.wall_us(), fastest_wall(results)),
               concat(three_digits(wall > 0 ? 100 * busy / wall : 0), " %"),
               results.checked ? "all results right" : "ok"});
  }
  for (const auto& [backend, reason] : results.unusable) table.add({backend, "-", "-", "-", "not usable: " + reason});
  report.heading("Totals");
  report.add(table);
}

void add_ranks(const ReplayResults& results, Report& report) {
  Table table({{"on"},
               {"rank", kRight},
               {"duration", kRight},
               {"in operations", kRight},
               {"waited for others", kRight},
               {"came last", kRight}});
  for (const ReplayOutcome& outcome : results.outcomes) {
    for (std::size_t rank = 0; outcome.ok() && rank < outcome.ranks.size(); ++rank) {
      const ReplayedRank& its = outcome.ranks[rank];
      table.add({rank == 0 ? outcome.backend : "", std::to_string(rank), format_time_us(its.wall_us),
                 format_time_us(its.busy_us), format_time_us(its.waited_us), std::to_string(its.last)});
    }
  }
  if (table.empty()) return;
  report.heading("Ranks", "blocking collectives: time until the last rank had come");
  report.add(table);
}

/// By kind and class of size, with both rates.
nlohmann::ordered_json sizes_json(const SizesOfKinds& sizes, int ranks) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [kind, histogram] : sizes) {
    for (const auto& [size_class, totals] : histogram) {
      const base::SizeBounds bounds = base::bounds_of_class(size_class);
      rows.push_back({{"operation", name(kind)},
                      {"above_bytes", bounds.above},
                      {"up_to_bytes", bounds.up_to},
                      {"count", totals.count},
                      {"bytes", totals.bytes},
                      {"time_us", totals.time_us},
                      {"mbps", megabits_per_second(totals, 1)},
                      {"bus_mbps", megabits_per_second(totals, bus_bandwidth_factor(kind, ranks))}});
    }
  }
  return rows;
}

nlohmann::ordered_json rank_json(const ReplayedRank& rank) {
  return {{"duration_us", rank.wall_us},
          {"in_operations_us", rank.busy_us},
          {"waited_us", rank.waited_us},
          {"came_last", rank.last}};
}

}  // namespace

std::string to_table(const ReplayResults& results, const Terminal& terminal) {
  Report report(terminal, terminal.columns());
  report.line(concat(results.title, ": ", results.ranks, results.ranks == 1 ? " rank" : " ranks",
                     results.recorded_backend.empty() ? "" : ", recorded on " + results.recorded_backend,
                     results.gaps == 1   ? ""
                     : results.gaps == 0 ? ", without gaps"
                                         : concat(", gaps x ", results.gaps),
                     results.rounds == 1 ? "" : concat(", median of ", results.rounds, " rounds")));
  const bool any = std::ranges::any_of(results.outcomes, &ReplayOutcome::ok);
  if (any) add_rows(results, report);
  add_totals(results, report);
  add_ranks(results, report);
  return report.text();
}

std::string to_json(const ReplayResults& results) {
  nlohmann::ordered_json document = {{"record", results.title},
                                     {"recorded_on", results.recorded_backend},
                                     {"ranks", results.ranks},
                                     {"rounds", results.rounds},
                                     {"gaps", results.gaps},
                                     {"checked", results.checked},
                                     {"operations", nlohmann::ordered_json::array()},
                                     {"backends", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const RowTotals& recorded = results.recorded.rows[i];
    nlohmann::ordered_json row = {{"operation", name(results.rows[i].op)},
                                  {"bytes", results.rows[i].bytes},
                                  {"calls", recorded.calls + results.recorded.unknown[i]},
                                  {"recorded_calls_with_time", recorded.calls},
                                  {"recorded_us", recorded.time_us},
                                  {"on", nlohmann::ordered_json::object()}};
    for (const ReplayOutcome& outcome : results.outcomes) {
      if (!outcome.ok()) continue;
      const RowTotals& its = outcome.rows[i];
      row["on"][outcome.backend] = {{"calls", its.calls}, {"time_us", its.time_us}, {"host_calls", its.host_calls}};
    }
    document["operations"].push_back(std::move(row));
  }
  for (const ReplayOutcome& outcome : results.outcomes) {
    nlohmann::ordered_json backend = {{"backend", outcome.backend},
                                      {"status", outcome.ok() ? "ok" : outcome.status},
                                      {"duration_us", outcome.wall_us()},
                                      {"ranks", nlohmann::ordered_json::array()}};
    for (const ReplayedRank& rank : outcome.ranks) backend["ranks"].push_back(rank_json(rank));
    backend["sizes"] = sizes_json(outcome.sizes, results.ranks);
    if (!outcome.tuned.empty()) backend["tuned"] = outcome.tuned;
    document["backends"].push_back(std::move(backend));
  }
  for (const auto& [backend, reason] : results.unusable)
    document["backends"].push_back({{"backend", backend}, {"status", "not usable: " + reason}});
  return to_text(document);
}

}  // namespace tutti::tools
