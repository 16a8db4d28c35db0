#include "faults/campaign/run_plan.hpp"

#include <algorithm>
#include <array>

#include "conformance/cases/plan.hpp"

namespace tutti::test::campaign {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kMostElements = 1u << 17;  // 1 MiB of the longest type

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

std::span<const std::string_view> variants(Fault fault) {
  static constexpr std::array<std::string_view, 3> kKill = {"SIGKILL", "SIGABRT", "SIGSEGV"};
  static constexpr std::array<std::string_view, 2> kExit = {"exit", "_exit"};
  static constexpr std::array<std::string_view, 4> kMismatch = {"count", "type", "op", "order"};
  static constexpr std::array<std::string_view, 5> kRooted = {"count", "type", "op", "order", "root"};
  static constexpr std::array<std::string_view, 3> kFork = {"child_exits", "child_uses", "child_execs"};
  static constexpr std::array<std::string_view, 5> kStore = {"flip", "cut", "silent", "delay", "stranger"};
  static constexpr std::array<std::string_view, 4> kVariable = {"TUTTI_TIMEOUT", "TUTTI_CHECK", "TUTTI_BACKEND",
                                                                "TUTTI_RENDEZVOUS_TIMEOUT"};
  static constexpr std::array<std::string_view, 3> kSettings = {"TUTTI_TIMEOUT", "TUTTI_CHECK", "TUTTI_REPRODUCIBLE"};
  static constexpr std::array<std::string_view, 2> kMoment = {"in_setup", "in_operation"};
  // Few operations make system calls.
  static constexpr std::array<std::string_view, 3> kCallMoment = {"in_setup", "in_setup", "in_operation"};
  static constexpr std::array<std::string_view, 2> kSegment = {"memfd", "shm"};
  switch (fault) {
    case Fault::kill:
      return kKill;
    case Fault::exit:
      return kExit;
    case Fault::mismatch:
      return kMismatch;
    case Fault::mismatch_rooted:
      return kRooted;
    case Fault::fork:
      return kFork;
    case Fault::store:
      return kStore;
    case Fault::bad_variable:
      return kVariable;
    case Fault::settings:
      return kSettings;
    case Fault::memory:
    case Fault::allocation:
      return kMoment;
    case Fault::system_call:
      return kCallMoment;
    case Fault::shm_full:
      return kSegment;
    default:
      return {};
  }
}

/// Nobody passes such an operation before all ranks have entered it.
bool synchronises(OpKind kind) {
  return kind == OpKind::allreduce || kind == OpKind::allgather || kind == OpKind::reduce_scatter ||
         kind == OpKind::alltoall || kind == OpKind::barrier;
}

/// Draws the operation at which the fault fires so that the fault shows in it.
Case faulty_case(const RunPlan& plan, Random& random) {
  const std::string variant = variant_name(plan);
  for (;;) {
    Case c = random_case(random, plan.ranks, kMostElements);
    if (plan.id.fault == Fault::late && (!synchronises(c.kind) || (c.count == 0 && c.kind != OpKind::barrier)))
      continue;
    if (is_mismatch(plan.id.fault)) {
      // A message concerns two ranks only; the lengths of vector forms may differ between ranks.
      const bool rooted = c.kind == OpKind::reduce || c.kind == OpKind::broadcast || c.kind == OpKind::gather ||
                          c.kind == OpKind::scatter;
      const bool fits = plan.id.fault == Fault::mismatch ? synchronises(c.kind) : rooted;
      if (!fits || c.count == 0 || c.kind == OpKind::barrier) continue;
      if (variant == "op" && !traits(c.kind).reduces) continue;
      if (variant == "op" || variant == "type") c.type = DataType::int32;
      if (variant == "op" || variant == "type") c.reduction = Reduction::sum;
      c.prescale = 1.0;
      c.real = false;
    }
    return c;
  }
}

void plan_steps(RunPlan& plan, Random& random) {
  const std::size_t count = 8 + random.below(33);
  plan.at = random.below(count);
  for (std::size_t i = 0; i < count; ++i) {
    Step step;
    const bool fits_any = plan.id.fault != Fault::late && !is_mismatch(plan.id.fault);
    step.on_second = plan.second != Second::none && random.below(3) == 0 && (i != plan.at || fits_any);
    // The roots of a split communicator are ranks of every part.
    const int size = step.on_second && plan.second != Second::duplicate ? plan.ranks / 2 : plan.ranks;
    step.call = i == plan.at ? faulty_case(plan, random) : random_case(random, std::max(size, 1), kMostElements);
    step.call.root %= std::max(size, 1);
    plan.steps.push_back(step);
  }
}

void plan_limits(RunPlan& plan) {
  const bool native = !plan.id.backend.starts_with("mpi") && !plan.id.backend.starts_with("ccl");
  plan.limit = milliseconds(native ? 1000 : 5000);
  // Libraries that start slowly take long on a busy machine.
  plan.rendezvous = milliseconds(native ? 4000 : 20000);
  if (plan.id.fault == Fault::late) plan.timeout = milliseconds(native ? 1000 : 2000);
  plan.deadline = 3 * plan.limit + plan.rendezvous + 2 * plan.timeout + milliseconds(2000);
}

}  // namespace

RunPlan make_run_plan(const RunId& id) {
  RunPlan plan;
  plan.id = id;
  Random random(mix(id.seed, id.run, hash_of(id.backend), static_cast<std::uint64_t>(id.fault)));
  const auto spread = static_cast<std::uint64_t>(id.most_ranks - id.fewest_ranks + 1);
  plan.ranks = id.fewest_ranks + static_cast<int>(random.below(spread));
  plan.culprit = static_cast<int>(random.below(static_cast<std::uint64_t>(plan.ranks)));
  plan.second = static_cast<Second>(random.below(4));
  // An abort concerns one communicator: beside a second one, its consequences would blame ranks that left because of
  // it.
  if (id.fault == Fault::abort) plan.second = Second::none;
  plan.variant = random();
  plan.detail = random();
  plan.lingers = random.coin();
  plan.leaves_survivors = random.coin();
  plan.during = random.coin();
  const bool in_setup = id.fault == Fault::kill_setup;
  const bool native = !id.backend.starts_with("mpi") && !id.backend.starts_with("ccl");
  plan.after = microseconds(random.below(!in_setup ? 2'000 : native ? 30'000 : 400'000));
  plan.checks = is_mismatch(id.fault) && (!native || random.coin());
  plan_steps(plan, random);
  plan_limits(plan);
  return plan;
}

std::vector<int> members_of_second(const RunPlan& plan, int rank) {
  std::vector<int> members;
  for (int other = 0; other < plan.ranks; ++other) {
    const bool together = plan.second == Second::parity   ? other % 2 == rank % 2
                          : plan.second == Second::halves ? (2 * other < plan.ranks) == (2 * rank < plan.ranks)
                                                          : true;
    if (together) members.push_back(other);
  }
  return members;
}

std::string variant_name(const RunPlan& plan) {
  const auto names = variants(plan.id.fault);
  return names.empty() ? std::string() : std::string(names[plan.variant % names.size()]);
}

}  // namespace tutti::test::campaign
