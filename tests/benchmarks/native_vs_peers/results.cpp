#include "results.hpp"

#include <algorithm>

#include "analysis/statistics.hpp"

namespace tutti::bench {

double Sample::median_us() const { return tools::percentile(rounds_us, 0.5); }

double Sample::spread() const {
  return (tools::percentile(rounds_us, 0.75) - tools::percentile(rounds_us, 0.25)) / 2 / median_us();
}

double Sample::speed_against(const Sample& other) const {
  const std::size_t rounds = std::min(rounds_us.size(), other.rounds_us.size());
  std::vector<double> ratios;
  for (std::size_t k = 0; k < rounds; ++k) ratios.push_back(other.rounds_us[k] / rounds_us[k]);
  return tools::percentile(ratios, 0.5);
}

const Sample* Results::find(const Cell& cell, std::string_view key) const {
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (contestants[i].key == key && cell.samples[i].ok()) return &cell.samples[i];
  }
  return nullptr;
}

std::optional<double> Results::median_us(const Cell& cell, std::string_view key) const {
  const Sample* sample = find(cell, key);
  return sample == nullptr ? std::nullopt : std::optional(sample->median_us());
}

std::optional<std::size_t> Results::fastest(const Cell& cell, Contestant::Kind kind) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (contestants[i].kind != kind || !cell.samples[i].ok()) continue;
    if (!best || cell.samples[i].median_us() < cell.samples[*best].median_us()) best = i;
  }
  return best;
}

std::optional<std::size_t> Results::best_peer(const Cell& cell) const { return fastest(cell, Contestant::Kind::peer); }

std::optional<std::size_t> Results::best_limit(const Cell& cell) const {
  return fastest(cell, Contestant::Kind::limit);
}

std::optional<double> Results::limit_us(const Cell& cell) const {
  const auto index = best_limit(cell);
  return index ? std::optional(cell.samples[*index].median_us()) : std::nullopt;
}

std::optional<double> Results::against_best_peer(const Cell& cell, std::string_view key) const {
  const Sample* own = find(cell, key);
  const auto best = best_peer(cell);
  if (own == nullptr || !best) return std::nullopt;
  return own->speed_against(cell.samples[*best]);
}

std::optional<double> Results::against_limit(const Cell& cell, std::string_view key) const {
  const Sample* own = find(cell, key);
  const auto limit = best_limit(cell);
  if (own == nullptr || !limit) return std::nullopt;
  return own->speed_against(cell.samples[*limit]);
}

std::vector<double> Results::core_distances_ns() const {
  std::vector<double> all;
  for (const Cell& cell : cells) all.insert(all.end(), cell.core_distances_ns.begin(), cell.core_distances_ns.end());
  return all;
}

}  // namespace tutti::bench
