#include "report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/statistics.hpp"
#include "core_state.hpp"
#include "targets.hpp"
#include "text/json_text.hpp"
#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::bench {
namespace {

using tools::Align;
using tools::concat;
using tools::Table;

constexpr std::size_t kWide = 200;  // tables of numbers are not wrapped
constexpr std::string_view kOwn = "native";
constexpr double kQuiet = 0.1;  // cores

std::string describe(const tools::MachineInfo& machine) {
  std::string text = concat(machine.cpu, ", ", machine.cores, " cores");
  for (const tools::CacheInfo& cache : machine.caches) {
    text += concat(", ", cache.name, ' ', tools::format_bytes(cache.bytes));
    if (cache.shared_by > 1) text += concat(" (shared by ", cache.shared_by, ')');
  }
  return concat(text, ", ", tools::format_bytes_rounded(machine.memory_bytes), " of memory");
}

std::string shown(const Sample& sample) {
  if (!sample.problem.empty()) return sample.problem.starts_with("wrong") ? "wrong" : "failed";
  if (!sample.ok()) return "-";
  return fmt::format("{} ±{:.0f}%", tools::three_digits(sample.median_us()), 100 * sample.spread());
}

std::string ratio(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

// "mixed, 45..190 ns" if the quartiles are far apart, because the virtual machine was moved to other cores meanwhile.
std::string distance(const std::vector<double>& distances_ns) {
  if (distances_ns.empty()) return "-";
  const double low = tools::percentile(distances_ns, 0.25);
  const double high = tools::percentile(distances_ns, 0.75);
  const std::string_view state = name(core_state(distances_ns));
  constexpr double kMoved = 1.3;
  if (high > kMoved * low) return fmt::format("{}, {:.0f}..{:.0f} ns", state, low, high);
  return fmt::format("{}, {:.0f} ns", state, tools::percentile(distances_ns, 0.5));
}

// One line for the whole run.
std::string cores_of(const Results& results) {
  const std::vector<double> distances = results.core_distances_ns();
  if (distances.empty()) return "  distance of the cores: unknown, there is only one\n";
  return fmt::format(
      "  distance of the cores: {} (in {:.0f} % of the rounds a cache line took less than {:.0f} ns from the first "
      "core to the\n  last); on a virtual machine it changes when the host moves the cores\n",
      distance(distances), 100 * near_share(distances), kNearBelowNs);
}

Table make_table(const Results& results) {
  std::vector<Table::Column> columns = {{"bytes", Align::right}};
  for (const Contestant& contestant : results.contestants) {
    if (contestant.kind != Contestant::Kind::limit) columns.push_back({contestant.title, Align::right});
  }
  columns.push_back({"limit", Align::right});
  columns.push_back({"best peer", Align::left});
  columns.push_back({"x best", Align::right});
  columns.push_back({"of limit", Align::right});
  columns.push_back({"core to core", Align::right});
  return Table(std::move(columns));
}

void add_row(Table& table, const Results& results, const Cell& cell) {
  const Workload& work = cell.workload;
  std::string size = work.op == Op::barrier ? "" : tools::format_bytes(work.bytes);
  if (work.type != Type::float32) size = concat(name(work.type), ' ', size);
  std::vector<std::string> row = {size};
  for (std::size_t i = 0; i < results.contestants.size(); ++i) {
    if (results.contestants[i].kind != Contestant::Kind::limit) row.push_back(shown(cell.samples[i]));
  }
  const auto limit = results.limit_us(cell);
  const auto best = results.best_peer(cell);
  row.push_back(limit ? tools::three_digits(*limit) : "-");
  row.push_back(best ? results.contestants[*best].title : "-");
  row.push_back(ratio(results.against_best_peer(cell, kOwn)));
  row.push_back(ratio(results.against_limit(cell, kOwn)));
  row.push_back(distance(cell.core_distances_ns));
  table.add(std::move(row));
}

void add_problems(std::string& out, const Results& results, const Cell& cell) {
  for (std::size_t i = 0; i < cell.samples.size(); ++i) {
    if (cell.samples[i].problem.empty()) continue;
    out += concat("  ", results.contestants[i].title, " at ", tools::format_bytes(cell.workload.bytes), ": ",
                  cell.samples[i].problem, '\n');
  }
}

std::string target_table(const Results& results, const tools::Terminal& terminal) {
  Table table({{"target"}, {"asked"}, {"worst", Align::right}, {"", Align::left}, {"verdict"}});
  int not_measured = 0;
  for (const Verdict& verdict : judge(results)) {
    if (verdict.state == Verdict::State::not_measured) {
      ++not_measured;
    } else {
      table.add({verdict.what, verdict.target, fmt::format("{:.2f}", verdict.worst), verdict.at, name(verdict.state)});
    }
  }
  const std::string others =
      not_measured > 0 ? concat("  and ", not_measured, " targets whose cells this run did not measure\n") : "";
  return concat("\n", terminal.bold("Targets"), " in this run\n", table.render(terminal, kWide), others);
}

nlohmann::ordered_json to_json(const Results& results, const Cell& cell) {
  nlohmann::ordered_json document = {{"op", name(cell.workload.op)},
                                     {"type", name(cell.workload.type)},
                                     {"bytes", cell.workload.bytes},
                                     {"ranks", cell.workload.ranks}};
  const auto set = [&](const char* key, const std::optional<double>& value) {
    document[key] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  const auto best = results.best_peer(cell);
  document["best_peer"] = best ? nlohmann::ordered_json(results.contestants[*best].key) : nlohmann::ordered_json();
  set("limit_us", results.limit_us(cell));
  set("against_best_peer", results.against_best_peer(cell, kOwn));
  set("against_limit", results.against_limit(cell, kOwn));
  document["cores"] = name(core_state(cell.core_distances_ns));
  document["core_distances_ns"] = cell.core_distances_ns;
  document["results"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < cell.samples.size(); ++i) {
    const Sample& sample = cell.samples[i];
    if (sample.problem.empty() && sample.rounds_us.empty()) continue;
    nlohmann::ordered_json entry = {{"contestant", results.contestants[i].key},
                                    {"status", sample.problem.empty() ? "ok" : sample.problem}};
    if (sample.ok()) {
      entry.update({{"median_us", sample.median_us()},
                    {"spread", sample.spread()},
                    {"calls", sample.calls},
                    {"rounds_us", sample.rounds_us}});
    }
    document["results"].push_back(std::move(entry));
  }
  return document;
}

}  // namespace

std::string header(const Results& results, const Plan& plan, const tools::Terminal& terminal) {
  std::string out = concat(terminal.bold(describe(results.machine)), '\n');
  Table table({{"library"}, {"version"}, {"settings that differ from the defaults"}});
  for (std::size_t i = 0; i < results.contestants.size(); ++i) {
    const Contestant& contestant = results.contestants[i];
    if (contestant.usable()) {
      table.add({contestant.title, results.versions[i], contestant.shown_settings(plan.ranks.back())});
    } else {
      table.add({contestant.title, "not measured", contestant.absent});
    }
  }
  return concat(
      out, table.render(terminal, kWide),
      fmt::format("  float32 sums out of place, with a barrier before every call. Times are microseconds of the "
                  "slowest rank: the median over\n  the calls of a round, then the median over {} rounds (each "
                  "library has one turn per round), ± half the interquartile range\n",
                  plan.rounds),
      plan.fresh_buffers
          ? "  every call has new memory: inputs that were just written, outputs that were never touched\n"
          : "",
      cores_of(results),
      fmt::format("  other programs kept {:.2f} of the {} cores busy during the run{}\n", results.foreign_load,
                  results.machine.cores,
                  results.foreign_load > kQuiet ? ": the times are those of a busy machine" : ""));
}

std::string tables(const Results& results, const tools::Terminal& terminal) {
  std::string out;
  for (std::size_t begin = 0; begin < results.cells.size();) {
    const Workload& first = results.cells[begin].workload;
    Table table = make_table(results);
    std::string problems;
    std::size_t end = begin;
    for (; end < results.cells.size(); ++end) {
      const Cell& cell = results.cells[end];
      if (cell.workload.op != first.op || cell.workload.ranks != first.ranks) break;
      add_row(table, results, cell);
      add_problems(problems, results, cell);
    }
    out += concat('\n', terminal.bold(concat(name(first.op), ", ", first.ranks, " ranks")), '\n',
                  table.render(terminal, kWide), problems);
    begin = end;
  }
  return out + target_table(results, terminal);
}

std::string to_json(const Results& results, const Plan& plan) {
  nlohmann::ordered_json document;
  const tools::MachineInfo& machine = results.machine;
  document["machine"] = {{"cpu", machine.cpu}, {"cores", machine.cores}, {"memory_bytes", machine.memory_bytes}};
  for (const tools::CacheInfo& cache : machine.caches) {
    document["machine"]["caches"].push_back(
        {{"name", cache.name}, {"bytes", cache.bytes}, {"shared_by", cache.shared_by}});
  }
  document["rounds"] = plan.rounds;
  document["fresh_buffers"] = plan.fresh_buffers;
  const std::vector<double> distances = results.core_distances_ns();
  document["cores"] = {{"state", name(core_state(distances))}, {"near_share", near_share(distances)}};
  document["complete"] = results.complete;
  document["foreign_load"] = results.foreign_load;
  for (std::size_t i = 0; i < results.contestants.size(); ++i) {
    const Contestant& contestant = results.contestants[i];
    document["contestants"].push_back({{"key", contestant.key},
                                       {"title", contestant.title},
                                       {"version", results.versions[i]},
                                       {"settings", contestant.shown_settings(plan.ranks.back())},
                                       {"absent", contestant.absent}});
  }
  document["cells"] = nlohmann::ordered_json::array();
  for (const Cell& cell : results.cells) document["cells"].push_back(to_json(results, cell));
  for (const Verdict& verdict : judge(results)) {
    document["targets"].push_back({{"what", verdict.what},
                                   {"target", verdict.target},
                                   {"verdict", name(verdict.state)},
                                   {"worst", verdict.worst},
                                   {"at", verdict.at},
                                   {"cells", verdict.cells}});
  }
  return tools::to_text(document);
}

}  // namespace tutti::bench
