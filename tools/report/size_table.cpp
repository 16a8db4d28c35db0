#include "report/size_table.hpp"

#include <fmt/format.h>

#include <set>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr double kMegabyte = 0x1p20;

ReportCell decimals(double value) { return {fmt::format("{:.2f}", value), fmt::format("{:.6f}", value)}; }

double time_of(const base::SizeHistogram& sizes) {
  double time = 0;
  for (const auto& [size_class, totals] : sizes) time += totals.time_us;
  return time;
}

void add_cells(const base::SizeTotals* totals, double all_us, double factor, std::vector<ReportCell>& cells) {
  if (totals == nullptr) {
    cells.insert(cells.end(), 6, ReportCell());
    return;
  }
  const auto count = static_cast<double>(totals->count);
  cells.push_back(count_cell(totals->count));
  cells.push_back(decimals(static_cast<double>(totals->bytes) / count / kMegabyte));
  cells.push_back(decimals(megabits_per_second(*totals, factor)));
  cells.push_back(decimals(totals->time_us * 1e-6));
  cells.push_back(decimals(totals->time_us * 1e-3 / count));
  const double share = all_us > 0 ? totals->time_us / all_us : 0;
  cells.push_back({fmt::format("{:.2f}%", 100 * share), fmt::format("{:.6f}", share)});
}

}  // namespace

double rate_factor(RateKind rate, OpKind kind, int ranks) noexcept {
  return rate == RateKind::bus ? bus_bandwidth_factor(kind, ranks) : 1;
}

double megabits_per_second(const base::SizeTotals& totals, double factor) noexcept {
  return totals.time_us <= 0 ? 0 : factor * static_cast<double>(totals.bytes) * 8 / kMegabyte / (totals.time_us * 1e-6);
}

ReportTable size_table(OpKind kind, std::span<const NamedSizes> runs, double rate_factor) {
  ReportTable table{.title = concat(name(kind), " by size"), .columns = {{"size", "", Align::left}}};
  table.group = 6;
  std::set<std::size_t> classes;
  for (const NamedSizes& run : runs) {
    const std::string where = runs.size() == 1 ? "" : concat(" ", run.name);
    for (const char* title : {"count", "average MB", "Mbps", "total s", "average ms", "share"})
      table.columns.push_back({concat(title, where), "", Align::right});
    for (const auto& [size_class, totals] : *run.sizes) classes.insert(size_class);
  }
  for (const std::size_t size_class : classes) {
    std::vector<ReportCell>& cells = table.rows.emplace_back();
    cells.emplace_back(base::name_of_class(size_class));
    for (const NamedSizes& run : runs) {
      const auto found = run.sizes->find(size_class);
      add_cells(found == run.sizes->end() ? nullptr : &found->second, time_of(*run.sizes), rate_factor, cells);
    }
  }
  return table;
}

}  // namespace tutti::tools
