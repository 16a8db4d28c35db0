#include "sweep/soak.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/statistics.hpp"
#include "machine.hpp"
#include "sweep/show/sweep_titles.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kLeakBytes = std::uint64_t{1} << 20;
constexpr std::size_t kWarmRounds = 2;
constexpr std::size_t kLeastForDrift = 9;
constexpr double kDriftThreshold = 0.05;

std::uint64_t difference(std::uint64_t later, std::uint64_t earlier) { return later > earlier ? later - earlier : 0; }

std::string percent(double part) { return concat(part < 0 ? "-" : "+", three_digits(std::abs(part) * 100), " %"); }

std::string drift_text(const SweepRow& row, const Drift& drift) {
  return concat(row.backend, ", ", section_title({row.cell.op, row.ranks, row.cell.in_place}, true), " at ",
                size_text(row.bytes), ": ", format_time_us(drift.first_us), " in the first third of ",
                row.run_medians_us.size(), " rounds, ", format_time_us(drift.last_us), " in the last (",
                percent(drift.relative()), ")");
}

}  // namespace

std::optional<ProcessMemory> memory_of(pid_t process) {
  std::ifstream file(concat("/proc/", process, "/status"));
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();  // lines as in /proc/meminfo
  const ProcessMemory memory{meminfo_value(text, "VmRSS"), meminfo_value(text, "VmHWM")};
  if (memory.resident == 0) return std::nullopt;  // gone, or a zombie
  return memory;
}

MemoryGrowth growth_of(std::span<const ProcessMemory> rounds) {
  if (rounds.size() < kWarmRounds + 2) return {};
  const std::span<const ProcessMemory> counted = rounds.subspan(kWarmRounds);
  const ProcessMemory& first = counted.front();
  const ProcessMemory& middle = counted[counted.size() / 2];
  const ProcessMemory& last = counted.back();
  MemoryGrowth growth{.resident = difference(last.resident, first.resident),
                      .peak = difference(last.peak, first.peak),
                      .rounds = counted.size() - 1};
  const std::uint64_t later = difference(last.resident, middle.resident);
  growth.is_leak = growth.resident > kLeakBytes && later * 4 > growth.resident;
  return growth;
}

void RankMemory::sample() {
  for (const auto& [rank, process] : processes_) {
    if (const auto memory = memory_of(process)) samples_[rank].push_back(*memory);
  }
}

std::map<int, MemoryGrowth> RankMemory::growth() const {
  std::map<int, MemoryGrowth> growth;
  for (const auto& [rank, rounds] : samples_) {
    if (const MemoryGrowth its = growth_of(rounds); its.rounds > 0) growth[rank] = its;
  }
  return growth;
}

std::optional<Drift> drift_of(std::span<const double> medians_us) {
  if (medians_us.size() < kLeastForDrift) return std::nullopt;
  const std::size_t third = medians_us.size() / 3;
  const auto first = medians_us.first(third);
  const auto last = medians_us.last(third);
  Drift drift{median(first), median(last)};
  const MedianInterval before = median_interval(first);
  const MedianInterval after = median_interval(last);
  const bool is_apart = before.high < after.low || after.high < before.low;
  drift.is_beyond_noise = is_apart && std::abs(drift.relative()) > kDriftThreshold;
  return drift;
}

void SoakReport::add(const std::string& backend, int ranks, const std::map<int, MemoryGrowth>& growth) {
  for (const auto& [rank, its] : growth) {
    MemoryGrowth& known = growth_[{backend, ranks, rank}];
    if (its.is_leak > known.is_leak || (its.is_leak == known.is_leak && its.resident >= known.resident)) known = its;
  }
}

bool SoakReport::has_leak() const {
  return std::ranges::any_of(growth_, [](const auto& entry) { return entry.second.is_leak; });
}

std::string SoakReport::text(const SweepResults& results, double seconds) const {
  std::string text = concat("\nsoak of ", format_clock(seconds), '\n');
  std::size_t steady = 0;
  for (const SweepRow& row : results.rows) {
    const auto drift = drift_of(row.run_medians_us);
    if (drift && drift->is_beyond_noise) text += concat("  drift: ", drift_text(row, *drift), '\n');
    steady += drift && !drift->is_beyond_noise ? 1 : 0;
  }
  if (steady > 0) text += concat("  no drift beyond the noise in ", steady, steady == 1 ? " cell\n" : " cells\n");
  const auto is_measured = [](const SweepRow& row) { return drift_of(row.run_medians_us).has_value(); };
  if (std::ranges::none_of(results.rows, is_measured))
    text += concat("  drift: not known from fewer than ", kLeastForDrift, " rounds\n");
  for (const auto& [key, growth] : growth_) {
    text += concat("  memory of ", key.backend, ", rank ", key.rank, " of ", key.ranks, ": ",
                   growth.is_leak ? "grew by " : "steady, ", format_bytes_rounded(growth.resident), " resident, ",
                   format_bytes_rounded(growth.peak), " peak in ", growth.rounds,
                   growth.rounds == 1 ? " round" : " rounds", growth.is_leak ? "; it may leak\n" : "\n");
  }
  if (growth_.empty()) text += "  memory: not known from fewer than 4 rounds in a job\n";
  return text;
}

}  // namespace tutti::tools
