#include "replay/replay_size_tables.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

/// The replays that ended well, under short names where a search came between the only two.
std::vector<std::pair<std::string, const ReplayOutcome*>> runs_of(const ReplayResults& results) {
  std::vector<std::pair<std::string, const ReplayOutcome*>> runs;
  for (const ReplayOutcome& outcome : results.outcomes) {
    if (outcome.ok()) runs.emplace_back(outcome.backend, &outcome);
  }
  if (runs.size() == 2 && runs[0].second->tuned.empty() && !runs[1].second->tuned.empty()) {
    runs[0].first = "before";
    runs[1].first = "after";
  }
  return runs;
}

}  // namespace

std::string_view tuned_columns() noexcept {
  return "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_time_ms,"
         "tensor_fusion_threshold,score";
}

std::string print_sizes(const ReplayResults& results, RateKind rate, ReportFormat format, const Terminal& terminal) {
  const auto runs = runs_of(results);
  std::set<OpKind> kinds;
  for (const auto& [name, outcome] : runs) {
    for (const auto& [kind, sizes] : outcome->sizes) kinds.insert(kind);
  }
  const base::SizeHistogram none;
  ReportPrinter printer(format, terminal);
  for (const OpKind kind : kinds) {
    std::vector<NamedSizes> sizes;
    for (const auto& [name, outcome] : runs) {
      const auto found = outcome->sizes.find(kind);
      sizes.push_back({name, found == outcome->sizes.end() ? &none : &found->second});
    }
    printer.add(size_table(kind, sizes, rate_factor(rate, kind, results.ranks)));
  }
  if (format == ReportFormat::csv) return printer.text();
  if (!kinds.empty()) {
    printer.paragraph(concat("Rank 0; as they reach the library underneath. MB: 2^20 bytes; Mbps: 2^20 bits a second",
                             rate == RateKind::bus ? " of the busiest link" : "", '.'));
  }
  for (const auto& [name, outcome] : runs) {
    if (outcome->tuned.empty()) continue;
    printer.line(concat("Best parameters (", tuned_columns(), "):"));
    printer.line(outcome->tuned);
  }
  return printer.text();
}

}  // namespace tutti::tools
