#include "conformance/cases/scenarios.hpp"

#include <algorithm>
#include <array>

#include "conformance/cases/case.hpp"
#include "conformance/cases/completion_scenarios.hpp"
#include "conformance/cases/group_scenarios.hpp"
#include "conformance/cases/plan.hpp"
#include "support/observers/recording_observer.hpp"
#include "tutti/error.hpp"

namespace tutti::test {
namespace {

void fuzz(const Communicator& comm, std::uint64_t seed, Report& report) {
  Random random(seed);
  for (int i = 0; i < 400; ++i) {
    const Case c = random_case(random, comm.size(), 40'000);
    try {
      run_case(comm, c, report);
    } catch (const Error& error) {
      throw Error(error.code(), describe(c) + " (iteration " + std::to_string(i) + "): " + error.what());
    }
  }
}

// Addresses that are not a multiple of the element size, in place and out of place.
void misaligned(const Communicator& comm, std::uint64_t seed, Report& report) {
  Random random(seed);
  for (const DataType type : {DataType::int16, DataType::bfloat16, DataType::float32, DataType::float64}) {
    for (const OpKind kind :
         {OpKind::allreduce, OpKind::reduce_scatter, OpKind::reduce_scatterv, OpKind::allgather, OpKind::broadcast}) {
      for (const std::uint64_t count : {std::uint64_t{5}, std::uint64_t{1009}, std::uint64_t{20011}}) {
        Case c{.kind = kind, .type = type, .count = count, .in_place = random.coin(), .seed = random()};
        c.offset = 1 + random.below(63);
        run_case(comm, c, report);
      }
    }
  }
}

// Block lengths of the vector forms: all empty, some empty, with gaps and packed.
void vector_forms(const Communicator& comm, std::uint64_t seed, Report& report) {
  Random random(seed);
  for (const OpKind kind :
       {OpKind::allgatherv, OpKind::reduce_scatterv, OpKind::gatherv, OpKind::scatterv, OpKind::alltoallv}) {
    for (int i = 0; i < 24; ++i) {
      Case c{.kind = kind, .type = kDataTypes[random.below(kDataTypeCount)], .seed = random()};
      c.count = i % 6 == 0 ? 0 : 1 + random.below(3000);
      c.in_place = has_in_place(kind) && random.coin();
      c.root = static_cast<int>(random.below(static_cast<std::uint64_t>(comm.size())));
      c.gaps = i % 2 == 0;
      run_case(comm, c, report);
    }
  }
}

// One block is empty and the others are long: a library may send long blocks on with the wrong number of messages.
void one_empty_block(const Communicator& comm, std::uint64_t seed, Report& report) {
  const int size = comm.size();
  for (int empty = 0; empty < size; ++empty) {
    for (const std::uint64_t count : {std::uint64_t{6'000}, std::uint64_t{50'000}}) {
      std::vector<std::uint64_t> counts(static_cast<std::size_t>(size), count);
      counts[static_cast<std::size_t>(empty)] = 0;
      const auto value = [&](int rank) { return static_cast<std::uint32_t>(seed) + static_cast<std::uint32_t>(rank); };
      const std::vector<std::uint32_t> own(counts[static_cast<std::size_t>(comm.rank())], value(comm.rank()));
      std::vector<std::uint32_t> all(count * static_cast<std::uint64_t>(size - 1));
      for (const bool is_async : {false, true}) {
        std::ranges::fill(all, std::uint32_t{0});
        comm.allgatherv(own, all, {.counts = counts}, {.async = is_async}).wait();
        bool right = true;
        std::size_t at = 0;
        for (int rank = 0; rank < size; ++rank) {
          for (std::uint64_t i = 0; i < counts[static_cast<std::size_t>(rank)]; ++i) right &= all[at++] == value(rank);
        }
        report.count_check();
        report.expect(right, "allgatherv with an empty block of rank " + std::to_string(empty) + " and others of " +
                                 std::to_string(count) + " gave wrong data");
      }
    }
  }
}

// No rank may leave the barrier before all have entered: compares the latest entry with the earliest exit.
void barrier_orders(const Communicator& comm, std::uint64_t, Report& report) {
  for (int i = 0; i < 50; ++i) {
    const auto before = std::chrono::steady_clock::now().time_since_epoch().count();
    comm.barrier();
    const auto after = std::chrono::steady_clock::now().time_since_epoch().count();
    std::int64_t latest_arrival = before;
    std::int64_t earliest_leave = after;
    comm.allreduce(Buffer(&latest_arrival, 1), {.op = Reduction::max});
    comm.allreduce(Buffer(&earliest_leave, 1), {.op = Reduction::min});
    report.count_check();
    report.expect(latest_arrival <= earliest_leave, "a rank left the barrier before the last rank had entered");
  }
}

void explains(const Communicator& comm, std::uint64_t, Report& report) {
  for (const OpTraits& row : kOpTraits) {
    const Explanation why = comm.explain(row.kind, DataType::float32, Reduction::sum);
    report.count_check();
    const std::string what = "explain(" + std::string(row.name) + ")";
    report.expect(!why.backend.empty(), what + " names no backend");
    report.expect(!why.reason.empty(), what + " gives no reason");
    report.expect(why.emulated != why.emulation.empty(), what + ": \"emulated\" and \"emulation\" disagree");
  }
  // A composite carries out short and long messages by different backends.
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{4001}}) {
    const RecordingObserver recorder;
    std::vector<float> data(count);
    comm.allreduce(data);
    const Explanation why = comm.explain(OpKind::allreduce, DataType::float32, Reduction::sum, count);
    report.count_check();
    for (const RecordingObserver::Issued& issued : recorder.issued()) {
      // Ranks that are threads of this process have their own records.
      if (issued.count != count || issued.kind != OpKind::allreduce) continue;
      report.expect(issued.backend == why.backend, "explain(allreduce) of " + std::to_string(count) +
                                                       " elements names backend '" + why.backend + "', but '" +
                                                       issued.backend + "' carried it out");
    }
  }
}

// Repeating an operation gives the same bits.
void repeats(const Communicator& comm, std::uint64_t seed, Report& report) {
  for (const std::uint64_t count : {std::uint64_t{9}, std::uint64_t{4001}, std::uint64_t{60013}}) {
    std::vector<float> in(count);
    const Pattern pattern{.seed = seed, .type = DataType::float32, .values = Values::real};
    fill(pattern, comm.rank(), 0, in);
    std::vector<float> first(count);
    comm.allreduce(in, first);
    for (int i = 0; i < 5; ++i) {
      std::vector<float> again(count);
      comm.allreduce(in, again);
      report.count_check();
      report.expect(first == again,
                    "allreduce(sum) of the same " + std::to_string(count) + " float32 gave different bits");
    }
  }
}

constexpr std::array kScenarios = {
    Scenario{.name = "group_exchange", .run = group_exchange},
    Scenario{"group_mixed", group_mixed},
    Scenario{"group_discards", group_discards},
    Scenario{.name = "pairs", .run = pairs, .needs_peers = true},
    Scenario{"split", splits},
    Scenario{"duplicate", duplicates},
    Scenario{"two_communicators", two_communicators},
    Scenario{"async_in_flight", async_in_flight},
    Scenario{"wait_in_between", waits_in_between},
    Scenario{"wait_for", waits_for},
    Scenario{.name = "timeout", .run = times_out, .leaves_operations = true, .needs_peers = true},
    Scenario{"explain", explains},
    Scenario{"barrier", barrier_orders},
    Scenario{"repeat", repeats},
    Scenario{"vector_forms", vector_forms},
    Scenario{"one_empty_block", one_empty_block},
    Scenario{"misaligned", misaligned},
    Scenario{"fuzz", fuzz},
};

}  // namespace

std::span<const Scenario> scenarios() { return kScenarios; }

const Scenario* find_scenario(std::string_view name) {
  for (const Scenario& scenario : kScenarios) {
    if (scenario.name == name) return &scenario;
  }
  return nullptr;
}

void run_scenario(const Scenario& scenario, const Communicator& comm, std::uint64_t seed, Report& report) {
  try {
    scenario.run(comm, seed, report);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(scenario.name) + ": " + error.what(), error.backend(), error.vendor_code());
  }
}

}  // namespace tutti::test
