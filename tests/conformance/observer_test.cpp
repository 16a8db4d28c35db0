// Records that an observer gets from the native engine and from emulation: every operation once, with exactly the calls
// and allocations that it caused.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases/one_of_each.hpp"
#include "support/allocation_counter.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

constexpr int kRanks = 3;

RankOptions on_backend(const std::string& backend) {
  RankOptions options;
  options.communicator.config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_BACKEND", backend);
  return options;
}

// Records of one operation on all ranks.
struct Seen {
  std::vector<RecordingObserver::Issued> issued;
  std::vector<RecordingObserver::Completed> completed;
  std::vector<RecordingObserver::Call> calls;
  std::vector<RecordingObserver::MemoryEvent> allocations;
  std::vector<RecordingObserver::MemoryEvent> frees;
};

Seen observe(const std::string& backend, OpKind kind, std::uint64_t count, const ReduceOptions& options = {}) {
  const RankOptions setup = on_backend(backend);
  const auto group = local_group(kRanks, setup.communicator);
  const auto once = [&](const Communicator& comm) {
    OneOfEach calls(comm, count);
    calls.run(kind, options);
  };
  // The first call does one-time setup, which is not a cost of the operation.
  EXPECT_EQ(describe(run_ranks(group, once)), "");
  RecordingObserver recorder;
  EXPECT_EQ(describe(run_ranks(group, once)), "");
  return {recorder.issued(), recorder.completed(), recorder.calls(), recorder.allocations(), recorder.frees()};
}

TEST(Observer, SeesEveryOperationOnceAndNativeCausesNothing) {
  for (const OpTraits& row : kOpTraits) {
    for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{100'000}}) {
      SCOPED_TRACE(std::string(row.name) + " of " + std::to_string(count));
      const Seen seen = observe("native", row.kind, count);
      const bool pair = row.kind == OpKind::send || row.kind == OpKind::recv;
      ASSERT_EQ(seen.issued.size(), pair ? 2u : kRanks);
      ASSERT_EQ(seen.completed.size(), seen.issued.size());
      std::set<OperationId> ids;
      std::map<OpKind, int> kinds;
      for (const auto& issued : seen.issued) {
        EXPECT_NE(issued.id, 0u);
        EXPECT_TRUE(ids.insert(issued.id).second) << "two operations have the id " << issued.id;
        ++kinds[issued.kind];
        EXPECT_EQ(issued.backend, "native");
        EXPECT_FALSE(issued.emulated);
        const bool counted = row.kind != OpKind::barrier && row.kind != OpKind::alltoallv;
        EXPECT_EQ(issued.count, counted ? count : 0);
      }
      // A message is a send on one rank and a recv on the other.
      EXPECT_EQ(kinds, pair ? (std::map<OpKind, int>{{OpKind::send, 1}, {OpKind::recv, 1}})
                            : (std::map<OpKind, int>{{row.kind, kRanks}}));
      for (const auto& completed : seen.completed) {
        EXPECT_EQ(completed.error, ErrorCode::ok);
        EXPECT_TRUE(ids.contains(completed.id)) << "an operation completed that had not been issued";
      }
      EXPECT_EQ(seen.calls.size(), 0u);
      EXPECT_EQ(seen.allocations.size(), 0u);
      EXPECT_EQ(seen.frees.size(), 0u);
    }
  }
}

TEST(Observer, SeesWhatEmulationAllocates) {
  // reduce_scatter is emulated by an allreduce into a temporary buffer of the size of the whole input on every rank.
  const Seen seen = observe("minimal", OpKind::reduce_scatter, 1000);
  ASSERT_EQ(seen.issued.size(), static_cast<std::size_t>(kRanks))
      << "the steps of an emulation must not be reported as operations";
  for (const auto& issued : seen.issued) EXPECT_TRUE(issued.emulated);
  ASSERT_EQ(seen.allocations.size(), static_cast<std::size_t>(kRanks));
  ASSERT_EQ(seen.frees.size(), seen.allocations.size());
  for (const auto& allocation : seen.allocations) {
    EXPECT_EQ(allocation.owner, "emulation");
    EXPECT_EQ(allocation.bytes, 1000 * sizeof(float) * kRanks);
    const auto freed = std::count_if(seen.frees.begin(), seen.frees.end(), [&](const auto& free) {
      return free.cause == allocation.cause && free.bytes == allocation.bytes;
    });
    EXPECT_EQ(freed, 1) << "operation " << allocation.cause;
    EXPECT_TRUE(std::any_of(seen.issued.begin(), seen.issued.end(),
                            [&](const auto& issued) { return issued.id == allocation.cause; }));
  }
}

TEST(Observer, SeesAverageOnABackendWithSumOnly) {
  const Seen seen = observe("minimal", OpKind::allreduce, 1000, {.op = Reduction::average});
  ASSERT_EQ(seen.issued.size(), static_cast<std::size_t>(kRanks));
  for (const auto& issued : seen.issued) EXPECT_TRUE(issued.emulated);
  // The result is divided in place.
  EXPECT_EQ(seen.allocations.size(), 0u);
}

TEST(Observer, SeesAsynchronousOperationsComplete) {
  const auto group = local_group(2, on_backend("native").communicator);
  RecordingObserver recorder;
  TUTTI_EXPECT_RANKS(group, [](const Communicator& comm) {
    std::vector<float> data(5000);
    Work work = comm.allreduce(data, {.async = true});
    work.wait();
  });
  ASSERT_EQ(recorder.issued().size(), 2u);
  ASSERT_EQ(recorder.completed().size(), 2u);
}

TEST(Observer, SeesOperationsFail) {
  const auto group = local_group(2, on_backend("native").communicator);
  RecordingObserver recorder;
  std::vector<float> data(10);
  EXPECT_THROW(group[0].allreduce(data, {.timeout = std::chrono::milliseconds(50)}), Error);
  ASSERT_EQ(recorder.completed().size(), 1u);
  EXPECT_EQ(recorder.completed()[0].error, ErrorCode::timeout);
  // A call that fails validation is never issued.
  EXPECT_THROW(group[0].broadcast(data, 17), Error);
  EXPECT_EQ(recorder.issued().size(), 1u);
}

TEST(Observer, SeesTheOperationsOfAGroup) {
  const auto group = local_group(2, on_backend("native").communicator);
  RecordingObserver recorder;
  TUTTI_EXPECT_RANKS(group, [](const Communicator& comm) {
    std::vector<float> out(10);
    std::vector<float> in(10);
    comm.group([&] {
      (void)comm.send(out, 1 - comm.rank());
      (void)comm.recv(in, 1 - comm.rank());
    });
  });
  EXPECT_EQ(recorder.issued().size(), 4u);
  EXPECT_EQ(recorder.completed().size(), 4u);
}

// Blocking calls do not allocate on the heap.
TEST(Allocations, BlockingCallsOnNativeMakeNone) {
  for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{50'000}}) {
    std::map<std::string, std::uint64_t> made;
    TUTTI_EXPECT_RANKS(
        kRanks,
        [&](const Communicator& comm) {
          OneOfEach calls(comm, count);
          for (const OpTraits& row : kOpTraits) {
            calls.run(row.kind);
            comm.barrier();
            const std::uint64_t before = allocation_count();
            for (int i = 0; i < 20; ++i) calls.run(row.kind);
            comm.barrier();
            const std::uint64_t after = allocation_count();
            // The count is that of the whole process: rank 0 must not allocate before all ranks have read it.
            comm.barrier();
            if (comm.rank() == 0) made[std::string(row.name)] = after - before;
            comm.barrier();
          }
        },
        on_backend("native"));
    for (const auto& [operation, allocations] : made) EXPECT_EQ(allocations, 0u) << operation << " of " << count;
    EXPECT_EQ(made.size(), kOpKindCount);
  }
}

}  // namespace
}  // namespace tutti::test
