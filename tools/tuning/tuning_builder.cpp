#include "tuning/tuning_builder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/guidelines.hpp"
#include "analysis/statistics.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"

namespace tutti::tools {
namespace {

/// A difference up to this part is none, also where the runs agree better.
constexpr double kNoDifference = 0.02;
/// A larger difference is one, whatever the noise.
constexpr double kLargestNoise = 0.05;
/// Noise of a backend that was measured in one run only.
constexpr double kUnknownNoise = 0.025;

/// Rows with these facts in common are compared.
struct Group {
  OpKind op;
  bool on_device;
  TypeClass types;
  int ranks;

  friend auto operator<=>(const Group&, const Group&) = default;
};

/// Times of one backend at one size.
struct Measured {
  double us = 0;
  std::vector<double> runs;

  /// Half of the interval that holds the median of the runs, as a part of the time.
  [[nodiscard]] double noise() const { return runs.size() < 2 ? kUnknownNoise : median_interval(runs).relative(us); }
};

/// A backend and the way in which it carries the operation out.
using Contender = std::pair<std::string, Composition>;
using AtSize = std::map<Contender, Measured>;
using Measurements = std::map<std::uint64_t, AtSize>;  // by size
using Sizes = std::span<const std::pair<std::uint64_t, AtSize>>;

const Measured& fastest(const AtSize& at_size) {
  return std::ranges::min_element(at_size, {}, [](const auto& one) { return one.second.us; })->second;
}

/// Whether a backend is as fast as the fastest one, as far as the runs tell.
bool is_good(const Contender& backend, const AtSize& at_size) {
  const auto own = at_size.find(backend);
  if (own == at_size.end()) return false;
  const Measured& best = fastest(at_size);
  const double slower = own->second.us / best.us - 1;
  return slower <= kNoDifference || slower <= std::min(own->second.noise() + best.noise(), kLargestNoise);
}

/// Mean of the logarithm of time over best time; infinite if the backend failed at a size.
double mean_slowness(const Contender& backend, Sizes sizes) {
  double sum = 0;
  for (const auto& [bytes, at_size] : sizes) {
    const auto own = at_size.find(backend);
    if (own == at_size.end()) return HUGE_VAL;
    sum += std::log(own->second.us / fastest(at_size).us);
  }
  return sum / static_cast<double>(sizes.size());
}

/// All backends, the best of these sizes first.
std::vector<Contender> ranking(Sizes sizes) {
  std::vector<Contender> backends;
  for (const auto& [bytes, at_size] : sizes) {
    for (const auto& [backend, measured] : at_size) {
      if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
    }
  }
  std::ranges::stable_sort(backends, {}, [&](const Contender& one) { return mean_slowness(one, sizes); });
  return backends;
}

/// Number of sizes from the first on for which one backend is good.
std::size_t longest_run(Sizes sizes) {
  std::size_t longest = 1;
  for (const auto& [backend, measured] : sizes.front().second) {
    std::size_t length = 0;
    while (length < sizes.size() && is_good(backend, sizes[length].second)) ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

/// The backend of a range: of those that are good at all of its sizes, the one with the least mean. A composition has
/// its place only where it is good.
std::vector<Contender> ranking_of_range(Sizes sizes) {
  std::vector<Contender> backends = ranking(sizes);
  const auto others = std::ranges::stable_partition(backends, [&](const Contender& backend) {
    return std::ranges::all_of(sizes, [&](const auto& one) { return is_good(backend, one.second); });
  });
  const auto composed =
      std::ranges::remove_if(others, [](const Contender& one) { return one.second != Composition::none; });
  backends.erase(composed.begin(), composed.end());
  return backends;
}

/// Part of the comparisons between runs of two backends that the first one won.
double won(const Measured& one, const Measured& other) {
  if (one.runs.empty() || other.runs.empty()) return one.us < other.us ? 1 : 0;
  double wins = 0;
  for (const double mine : one.runs) {
    for (const double theirs : other.runs) wins += mine < theirs ? 1 : mine == theirs ? 0.5 : 0;
  }
  return wins / static_cast<double>(one.runs.size() * other.runs.size());
}

/// Margin over, and certainty against, the best other backend at each size.
void add_margin(TuningRow& row, Sizes sizes) {
  double logarithm = 0;
  double certainty = 0;
  std::size_t compared = 0;
  for (const auto& [bytes, at_size] : sizes) {
    const Contender first(row.backends.front().spec, row.backends.front().composition);
    AtSize others = at_size;
    others.erase(first);
    if (others.empty() || others.size() == at_size.size()) continue;
    const Measured& own = at_size.at(first);
    const Measured& next = fastest(others);
    logarithm += std::log(next.us / own.us);
    certainty += won(own, next);
    ++compared;
  }
  if (compared == 0) {
    row.certainty = 1;  // there is no other
    return;
  }
  row.margin = std::max(0.0, std::exp(logarithm / static_cast<double>(compared)) - 1);
  row.certainty = certainty / static_cast<double>(compared);
}

TuningRow make_range(const Group& group, Sizes sizes) {
  TuningRow row{.op = group.op,
                .on_device = group.on_device,
                .types = group.types,
                .ranks_from = group.ranks,
                .ranks_to = group.ranks,
                .backends = {}};
  for (const Contender& backend : ranking_of_range(sizes)) {
    TunedBackend tuned{.spec = backend.first, .times = {}, .composition = backend.second};
    for (const auto& [bytes, at_size] : sizes) {
      const auto own = at_size.find(backend);
      if (own != at_size.end()) tuned.times.push_back({bytes, own->second.us});
    }
    row.backends.push_back(std::move(tuned));
  }
  add_margin(row, sizes);
  return row;
}

std::uint64_t between(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(a) * static_cast<double>(b))));
}

void add_ranges(const Group& group, const Measurements& measurements, std::vector<TuningRow>& rows) {
  const std::vector<std::pair<std::uint64_t, AtSize>> all(measurements.begin(), measurements.end());
  const Sizes sizes = all;
  std::uint64_t from = 0;
  for (std::size_t begin = 0; begin < sizes.size();) {
    const std::size_t length = longest_run(sizes.subspan(begin));
    TuningRow row = make_range(group, sizes.subspan(begin, length));
    begin += length;
    row.from = from;
    row.to = begin < sizes.size() ? between(sizes[begin - 1].first, sizes[begin].first) : kNoLimit;
    from = row.to;
    rows.push_back(std::move(row));
  }
}

/// Takes the facts of the machine from the head of the results.
void add_machine(TuningTable& table, const SweepResults& results) {
  if (results.head.cpu.empty() || results.head.cores < 1) {
    throw Error(ErrorCode::config,
                "the results do not name the machine that they are from; an older version of tutti "
                "wrote them: run the sweep again");
  }
  const TuningMachine machine{results.head.cpu, results.head.cores};
  if (table.machine.cpu.empty()) {
    table.tutti = results.head.tutti;
    table.machine = machine;
    table.host = results.head.hostname;
  }
  if (table.machine != machine || table.tutti != results.head.tutti) {
    throw Error(ErrorCode::config,
                concat("the results are of different machines or versions: tutti ", table.tutti, " on ",
                       table.machine.cpu, ", ", table.machine.cores, " cores, and tutti ", results.head.tutti, " on ",
                       machine.cpu, ", ", machine.cores, " cores; a table is of one"));
  }
  if (results.device != "host") table.device = results.device;
  for (const BackendSetup& setup : results.backends) {
    const auto known = [&](const auto& library) { return library.first == setup.backend; };
    if (setup.version.empty() || std::ranges::any_of(table.libraries, known)) continue;
    table.libraries.emplace_back(setup.backend, setup.version);
  }
}

/// Whether a composition is faster than the operation of each backend by kCompositionGain, in all runs.
bool is_worth_its_use(const ComposedCell& composed, const AtSize& at_size) {
  return std::ranges::all_of(at_size, [&](const auto& other) {
    const auto& [contender, measured] = other;
    if (contender.second != Composition::none) return true;
    const bool differs = composed.run_medians_us.empty() || measured.runs.empty() ||
                         std::ranges::max(composed.run_medians_us) < std::ranges::min(measured.runs);
    return differs && composed.time_us * kCompositionGain <= measured.us;
  });
}

void add_composed(std::span<const ComposedCell> composed, const SweepResults& results,
                  std::map<Group, Measurements>& groups) {
  for (const ComposedCell& one : composed) {
    const OpKind op = one.cell.op;
    AtSize& at_size = groups[{op, results.device != "host", type_class(op, results.type), results.ranks}][one.bytes];
    if (!is_worth_its_use(one, at_size)) continue;
    at_size[{one.backend, one.composition}] = {std::max(one.time_us, 0.001), one.run_medians_us};
  }
}

}  // namespace

std::vector<ComposedCell> promising_compositions(const SweepResults& results) {
  std::vector<ComposedCell> promising;
  const RowsByCell cells = rows_by_cell(results);
  for (const BrokenGuideline& broken : find_broken_guidelines(results)) {
    const SweepRow& row = *broken.row;
    if (row.cell.in_place || row.is_staged || !composes(broken.composition, row.cell.op)) continue;
    const auto is_slower = [&](const SweepRow* other) {
      return !other->ok() || broken.parts_us * kCompositionGain <= other->time_us_p50;
    };
    if (!std::ranges::all_of(cells.at(broken.key), is_slower)) continue;
    promising.push_back({.cell = row.cell,
                         .backend = row.backend,
                         .composition = broken.composition,
                         .bytes = row.bytes,
                         .time_us = broken.parts_us});
  }
  return promising;
}

TuningTable build_tuning(std::span<const SweepResults> results, std::span<const ComposedCell> composed) {
  TuningTable table;
  std::map<Group, Measurements> groups;
  for (const SweepResults& one : results) {
    add_machine(table, one);
    for (const SweepRow& row : one.rows) {
      if (!row.ok() || row.cell.in_place || !(row.time_us_p50 > 0)) continue;
      const Group group{row.cell.op, one.device != "host", type_class(row.cell.op, row.type), row.ranks};
      // A smallest time that the text of the file can hold.
      const Contender contender(row.backend, Composition::none);
      groups[group][row.bytes][contender] = {std::max(row.time_us_p50, 0.001), row.run_medians_us};
    }
  }
  if (!composed.empty()) add_composed(composed, results.front(), groups);
  if (groups.empty()) throw Error(ErrorCode::config, "the results have no successful cell to learn from");
  for (const auto& [group, measurements] : groups) add_ranges(group, measurements, table.rows);
  return table;
}

std::string tuning_text(const SweepResults& results) { return to_text(build_tuning({&results, 1})); }

}  // namespace tutti::tools
