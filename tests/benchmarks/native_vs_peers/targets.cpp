#include "targets.hpp"

#include <limits>
#include <optional>

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

/// Cells of a target, and the ratio that it requires.
struct Target {
  Op op = Op::allreduce;
  int ranks = 2;
  std::uint64_t least = 0;
  std::uint64_t most = kAny;
  double ratio = 1;
  std::string text;
  std::string_view contestant = kOrdinary;
  bool of_limit = false;
};

std::vector<Target> all_targets() {
  std::vector<Target> targets = {
      {.op = Op::allreduce, .least = kMebibyte, .most = 512 * kMebibyte, .ratio = 2, .text = ">= 2 x the fastest peer"},
      {.op = Op::allreduce,
       .least = 16 * kMebibyte,
       .most = 512 * kMebibyte,
       .ratio = 0.85,
       .text = ">= 0.85 of the limit",
       .contestant = kAllocated,
       .of_limit = true}};
  for (const Op op : {Op::allreduce, Op::allgather, Op::broadcast, Op::barrier}) {
    targets.push_back({.op = op, .most = 64 * kKibibyte, .text = "no slower than the fastest peer"});
  }
  targets.push_back({.op = Op::allgather,
                     .least = kMebibyte,
                     .most = 128 * kMebibyte,
                     .ratio = 1.5,
                     .text = ">= 1.5 x the fastest peer"});
  for (const int ranks : {4, 8}) {
    for (const Op op : kOps) targets.push_back({.op = op, .ranks = ranks, .text = "faster than every peer"});
  }
  return targets;
}

std::string describe(const Target& target) {
  std::string text(name(target.op));
  if (target.contestant == kAllocated) text += ", allocated buffers";
  if (target.op != Op::barrier) {
    if (target.most == kAny) {
      text += ", every size";
    } else {
      text += concat(", ", format_bytes(target.least == 0 ? 8 : target.least), " to ", format_bytes(target.most));
    }
  }
  return concat(text, ", ", target.ranks, " ranks");
}

// Whether the spread of the two compared samples could explain a miss.
bool within_spread(const Results& results, const Cell& cell, const Target& target, double ratio) {
  const Sample* own = results.find(cell, target.contestant);
  const auto best = results.best_peer(cell);
  if (target.of_limit || own == nullptr || !best) return false;
  return ratio * (1 + own->spread() + cell.samples[*best].spread()) >= target.ratio;
}

Verdict judge(const Results& results, const Target& target) {
  Verdict verdict{.what = describe(target), .target = target.text};
  for (const Cell& cell : results.cells) {
    const Workload& work = cell.workload;
    if (work.op != target.op || work.ranks != target.ranks || work.type != Type::float32) continue;
    if (work.bytes < target.least || work.bytes > target.most) continue;
    const auto ratio = target.of_limit ? results.against_limit(cell, target.contestant)
                                       : results.against_best_peer(cell, target.contestant);
    if (!ratio) continue;
    if (verdict.cells++ > 0 && *ratio >= verdict.worst) continue;
    verdict.worst = *ratio;
    verdict.at = work.op == Op::barrier ? "" : "at " + format_bytes(work.bytes);
    if (*ratio < target.ratio && within_spread(results, cell, target, *ratio)) verdict.at += " (within the spread)";
  }
  if (verdict.cells > 0) {
    verdict.state = verdict.worst >= target.ratio ? Verdict::State::met : Verdict::State::missed;
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
  if (narrow != nullptr && wide != nullptr) {
    verdict.cells = 1;
    verdict.worst = narrow->speed_against(*wide);
    verdict.state = verdict.worst >= kTarget ? Verdict::State::met : Verdict::State::missed;
  }
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
  for (const Type type : {Type::float16, Type::bfloat16}) verdicts.push_back(judge_narrow(results, type));
  return verdicts;
}

}  // namespace tutti::bench
