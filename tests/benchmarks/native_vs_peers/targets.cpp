#include "targets.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "core_state.hpp"
#include "text/text.hpp"

namespace tutti::bench {
namespace {

using tools::concat;
using tools::format_bytes;

constexpr std::uint64_t kKibibyte = 1024;
constexpr std::uint64_t kMebibyte = 1024 * kKibibyte;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view kOrdinary = "native";
constexpr std::string_view kAllocated = "native-allocate";
constexpr Op kMainOps[] = {Op::allreduce, Op::allgather, Op::broadcast, Op::reduce_scatter};
constexpr Op kMoves[] = {Op::alltoall, Op::gather, Op::scatter, Op::message};

/// Cells of a target, and the ratio that it requires.
struct Target {
  Op op = Op::allreduce;
  int ranks = 2;
  std::uint64_t least = 0;
  std::uint64_t most = kAny;
  double ratio = 1;
  std::string text = "no slower than the fastest library";
  std::string_view contestant = kOrdinary;
  bool of_limit = false;
  bool spread_counts = false;            ///< a ratio that is too low by less than the spread meets the target
  CoreState cores = CoreState::unknown;  ///< only cells in that state, if it is known
};

std::vector<Target> all_targets() {
  std::vector<Target> targets;
  for (const Op op : kMainOps) {
    targets.push_back({.op = op,
                       .least = 8,
                       .most = 512 * kMebibyte,
                       .text = "no slower than the fastest library, or within the spread",
                       .spread_counts = true});
  }
  for (const Op op : kMainOps) {
    targets.push_back({.op = op,
                       .least = 16 * kKibibyte,
                       .most = 256 * kKibibyte,
                       .ratio = 1.2,
                       .text = ">= 1.2 x the fastest library"});
  }
  const auto large_allreduce = [&](CoreState cores, double ratio, std::string text) {
    targets.push_back({.op = Op::allreduce,
                       .least = kMebibyte,
                       .most = 512 * kMebibyte,
                       .ratio = ratio,
                       .text = std::move(text),
                       .cores = cores});
  };
  large_allreduce(CoreState::near, 1.4, ">= 1.4 x the fastest library");
  large_allreduce(CoreState::far, 2, ">= 2 x the fastest library");
  for (const Op op : kMainOps) {
    targets.push_back({.op = op,
                       .least = 16 * kKibibyte,
                       .ratio = 2,
                       .text = ">= 2 x the fastest library",
                       .contestant = kAllocated});
    targets.push_back({.op = op,
                       .least = 16 * kMebibyte,
                       .ratio = 0.9,
                       .text = ">= 0.9 of the limit",
                       .contestant = kAllocated,
                       .of_limit = true});
  }
  for (const int ranks : {4, 8}) {
    for (const Op op : kOps) targets.push_back({.op = op, .ranks = ranks});
  }
  for (const Op op : kMoves) targets.push_back({.op = op, .least = 64 * kKibibyte});
  targets.push_back({.op = Op::barrier});
  return targets;
}

std::string range(std::uint64_t least, std::uint64_t most) {
  if (most != kAny) return concat(format_bytes(least), " to ", format_bytes(most));
  return least == 0 ? "every size" : concat("from ", format_bytes(least));
}

std::string describe(const Target& target) {
  std::string text(name(target.op));
  if (target.contestant == kAllocated) text += ", allocated buffers";
  if (target.op != Op::barrier) text += ", " + range(target.least, target.most);
  if (target.cores != CoreState::unknown) text += concat(", ", name(target.cores), " cores");
  return concat(text, ", ", target.ranks, " ranks");
}

/// Ratio of a cell, compared with what is asked.
struct Judged {
  double ratio = 1;
  double asked = 1;
  double spread = 0;  ///< of the two compared samples
  std::string at;

  [[nodiscard]] bool is_low() const noexcept { return ratio < asked; }
  [[nodiscard]] bool within_spread() const noexcept { return ratio * (1 + spread) >= asked; }
};

/// Adds a cell to a verdict. A cell that misses the target outranks all that do not.
void add(Verdict& verdict, const Judged& cell, bool spread_counts) {
  const bool misses = cell.is_low() && !(spread_counts && cell.within_spread());
  const bool missed = verdict.state == Verdict::State::missed;
  const bool shown = verdict.cells == 0 || (misses && !missed) || (misses == missed && cell.ratio < verdict.worst);
  ++verdict.cells;
  verdict.state = misses || missed ? Verdict::State::missed : Verdict::State::met;
  if (!shown) return;
  verdict.worst = cell.ratio;
  verdict.at = cell.at;
  if (cell.is_low() && cell.within_spread()) verdict.at += " (within the spread)";
}

bool covers(const Target& target, const Cell& cell) {
  const Workload& work = cell.workload;
  if (work.op != target.op || work.ranks != target.ranks || work.type != Type::float32) return false;
  if (target.cores != CoreState::unknown && usual_core_state(cell.core_distances_ns) != target.cores) return false;
  return work.op == Op::barrier || (work.bytes >= target.least && work.bytes <= target.most);
}

Verdict judge(const Results& results, const Target& target) {
  Verdict verdict{.what = describe(target), .target = target.text};
  for (const Cell& cell : results.cells) {
    if (!covers(target, cell)) continue;
    const auto ratio = target.of_limit ? results.against_limit(cell, target.contestant)
                                       : results.against_best_peer(cell, target.contestant);
    if (!ratio) continue;
    Judged judged{.ratio = *ratio,
                  .asked = target.ratio,
                  .spread = results.find(cell, target.contestant)->spread(),
                  .at = target.op == Op::barrier ? "" : "at " + format_bytes(cell.workload.bytes)};
    const auto other = target.of_limit ? results.best_limit(cell) : results.best_peer(cell);
    judged.spread += cell.samples[*other].spread();
    add(verdict, judged, target.spread_counts);
  }
  return verdict;
}

/// Time that each size takes, compared with the next measured size of at least twice as many bytes.
Verdict judge_growth(const Results& results, Op op) {
  Verdict verdict{.what = concat("growth of ", name(op), " with the size, 2 ranks"),
                  .target = "no size costs more than the next doubling, or within the spread"};
  std::vector<const Cell*> cells;
  for (const Cell& cell : results.cells) {
    const Workload& work = cell.workload;
    if (work.op != op || work.ranks != 2 || work.type != Type::float32) continue;
    if (results.find(cell, kOrdinary) != nullptr) cells.push_back(&cell);
  }
  std::ranges::sort(cells, {}, [](const Cell* cell) { return cell->workload.bytes; });
  for (const Cell* cell : cells) {
    const auto next = std::ranges::find_if(
        cells, [&](const Cell* other) { return other->workload.bytes >= 2 * cell->workload.bytes; });
    if (next == cells.end()) break;
    // All times change with the distance of the cores.
    if (usual_core_state(cell->core_distances_ns) != usual_core_state((*next)->core_distances_ns)) continue;
    const Sample& small = *results.find(*cell, kOrdinary);
    const Sample& large = *results.find(**next, kOrdinary);
    add(verdict,
        {.ratio = large.median_us() / small.median_us(),
         .asked = 1,
         .spread = small.spread() + large.spread(),
         .at = concat("from ", format_bytes(cell->workload.bytes), " to ", format_bytes((*next)->workload.bytes))},
        true);
  }
  return verdict;
}

// Compares the bytes per second of a 16-bit type with those of float32 at the same number of bytes.
Verdict judge_narrow(const Results& results, Type type) {
  constexpr double kTarget = 0.8;
  constexpr std::uint64_t kBytes = 64 * kMebibyte;
  Verdict verdict{.what = concat("allreduce of ", name(type), ", ", format_bytes(kBytes), ", 2 ranks"),
                  .target = ">= 0.8 of float32's bytes per second"};
  const Sample* narrow = nullptr;
  const Sample* wide = nullptr;
  for (const Cell& cell : results.cells) {
    const Workload& work = cell.workload;
    if (work.op != Op::allreduce || work.ranks != 2 || work.bytes != kBytes) continue;
    if (work.type == type) narrow = results.find(cell, kOrdinary);
    if (work.type == Type::float32) wide = results.find(cell, kOrdinary);
  }
  if (narrow == nullptr || wide == nullptr) return verdict;
  add(verdict,
      {.ratio = narrow->speed_against(*wide), .asked = kTarget, .spread = narrow->spread() + wide->spread(), .at = {}},
      false);
  return verdict;
}

}  // namespace

std::string name(Verdict::State state) {
  switch (state) {
    case Verdict::State::met:
      return "met";
    case Verdict::State::missed:
      return "missed";
    case Verdict::State::not_measured:
      break;
  }
  return "not measured";
}

std::vector<Verdict> judge(const Results& results) {
  std::vector<Verdict> verdicts;
  for (const Target& target : all_targets()) verdicts.push_back(judge(results, target));
  for (const Op op : kOps) {
    if (op != Op::barrier) verdicts.push_back(judge_growth(results, op));
  }
  for (const Type type : {Type::float16, Type::bfloat16}) verdicts.push_back(judge_narrow(results, type));
  return verdicts;
}

}  // namespace tutti::bench
