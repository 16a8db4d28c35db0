#include "conformance/cases/plan.hpp"

#include <array>

#include "tutti/error.hpp"

namespace tutti::test {
namespace {

// Zero, one, and primes below and above the small-message limit of any backend.
constexpr std::array<std::uint64_t, 4> kCounts = {0, 1, 17, 1009};
// A prime that gives several chunks in any pipeline, and a prime that gives very many.
constexpr std::uint64_t kLarge = 70001;
constexpr std::uint64_t kHuge = 1'300'021;

class Planner {
 public:
  explicit Planner(const PlanOptions& options) : options_(options), random_(options.seed) {}

  // Root, gaps, real values and prescale vary from case to case, so that a plan covers all of them.
  void add(OpKind kind, DataType type, Reduction reduction, std::uint64_t count, bool in_place) {
    const std::uint64_t turn = plan_.size();
    Case c{.kind = kind, .type = type, .reduction = reduction, .count = count, .in_place = in_place};
    c.root = static_cast<int>(random_.below(static_cast<std::uint64_t>(options_.ranks)));
    c.seed = random_();
    c.gaps = turn % 2 == 1;
    if (traits(kind).reduces && is_floating(type)) {
      c.real = turn % 3 == 1;
      if (turn % 4 == 2) c.prescale = c.real ? 0.3 : 0.5;
    }
    plan_.push_back(c);
  }

  void add_counts(OpKind kind, DataType type, Reduction reduction) {
    if (options_.coverage == Coverage::rotated) {
      const std::uint64_t turn = plan_.size();
      add(kind, type, reduction, kCounts[turn % kCounts.size()], has_in_place(kind) && (turn / 4) % 2 == 1);
      return;
    }
    for (const std::uint64_t count : kCounts) {
      add(kind, type, reduction, count, false);
      if (has_in_place(kind)) add(kind, type, reduction, count, true);
    }
  }

  void add_small() {
    for (const OpTraits& row : kOpTraits) {
      // A recv case is a whole exchange, with its send; a barrier has no data and is a scenario.
      if (row.kind == OpKind::send || row.kind == OpKind::barrier) continue;
      for (const DataType type : kDataTypes) {
        if (!row.reduces) {
          add_counts(row.kind, type, Reduction::sum);
          continue;
        }
        for (const Reduction reduction : kReductions) {
          if (is_defined(reduction, type)) add_counts(row.kind, type, reduction);
        }
      }
    }
  }

  void add_roots() {
    for (const OpTraits& row : kOpTraits) {
      if (!row.rooted || is_message(row.kind)) continue;
      for (int root = 0; root < options_.ranks; ++root) {
        add(row.kind, DataType::float32, Reduction::sum, 17, root % 2 == 1);
        plan_.back().root = root;
      }
    }
  }

  void add_large() {
    std::size_t turn = 0;
    for (const OpTraits& row : kOpTraits) {
      if (row.kind == OpKind::send || row.kind == OpKind::barrier) continue;
      for (const DataType type : kDataTypes) {
        // Large messages differ from small ones in how they are split, which does not depend on the type. So only every
        // fourth type is used, but all types for the most important operation.
        if (row.kind != OpKind::allreduce && (turn++ % 4) != 0) continue;
        add(row.kind, type, Reduction::sum, kLarge, has_in_place(row.kind) && turn % 8 == 1);
      }
    }
    add(OpKind::allreduce, DataType::float32, Reduction::sum, kHuge, false);
    add(OpKind::allreduce, DataType::float32, Reduction::average, kHuge, true);
    add(OpKind::allreduce, DataType::bfloat16, Reduction::max, kHuge, false);
    add(OpKind::allreduce, DataType::uint8, Reduction::bit_xor, kHuge, true);
    add(OpKind::reduce, DataType::float32, Reduction::sum, kHuge, false);
    add(OpKind::broadcast, DataType::float32, Reduction::sum, kHuge, true);
    const std::uint64_t block = kHuge / static_cast<std::uint64_t>(options_.ranks);
    add(OpKind::reduce_scatter, DataType::float32, Reduction::sum, block, false);
    add(OpKind::reduce_scatterv, DataType::int32, Reduction::max, 2 * block, true);
    add(OpKind::reduce_scatterv, DataType::float8_e5m2, Reduction::average, block, false);
    add(OpKind::allgather, DataType::float32, Reduction::sum, block, true);
    add(OpKind::alltoall, DataType::float32, Reduction::sum, block, false);
    add(OpKind::alltoallv, DataType::uint16, Reduction::sum, block, false);
    add(OpKind::recv, DataType::float32, Reduction::sum, kHuge, false);
  }

  std::vector<Case> take() { return std::move(plan_); }

 private:
  PlanOptions options_;
  Random random_;
  std::vector<Case> plan_;
};

}  // namespace

std::vector<Case> make_plan(const PlanOptions& options) {
  Planner planner(options);
  planner.add_small();
  planner.add_roots();
  if (options.large) planner.add_large();
  return planner.take();
}

Case random_case(Random& random, int ranks, std::uint64_t max_count) {
  Case c;
  do {
    c.kind = kOpTraits[random.below(kOpKindCount)].kind;
  } while (c.kind == OpKind::send || (c.kind == OpKind::recv && ranks == 1));
  c.type = kDataTypes[random.below(kDataTypeCount)];
  do {
    c.reduction = kReductions[random.below(kReductionCount)];
  } while (!is_defined(c.reduction, c.type));
  // The shift makes small counts frequent and covers every order of magnitude.
  c.count = random.below(max_count + 1) >> random.below(17);
  c.in_place = has_in_place(c.kind) && random.coin();
  c.root = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
  if (traits(c.kind).reduces && is_floating(c.type)) {
    c.real = random.coin();
    if (random.coin()) c.prescale = c.real ? 1.7 : 0.25;
  }
  c.gaps = random.coin();
  c.offset = random.coin() ? 0 : random.below(64);
  c.seed = random();
  return c;
}

void run_plan(const Communicator& comm, const std::vector<Case>& plan, Report& report, const Placement* placement) {
  for (const Case& c : plan) {
    try {
      run_case(comm, c, report, placement);
    } catch (const Error& error) {
      report.fail(describe(c) + " on rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()) +
                  ": threw " + std::string(name(error.code())) + ": " + error.what());
      throw;
    }
  }
}

}  // namespace tutti::test
