// An allocation that fails on one rank ends the communicator on all ranks, or has no effect. If that rank's next
// collective took the place of the one that failed, all ranks would get wrong sums.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>

#include "support/allocation_counter.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 2;
constexpr std::size_t kCount = 5000;

struct Manner {
  const char* name;
  const char* check;  ///< TUTTI_CHECK
  std::function<void(const Communicator&, std::vector<float>&, std::vector<float>&)> call;
};

class AllocationFailure : public testing::TestWithParam<Manner> {};

/// Two sums over the ranks. Throws if the call succeeds and the sums are wrong.
void add_up(const Communicator& comm, float value, std::uint64_t failing_allocation, bool& has_failed) {
  std::vector<float> first(kCount, value);
  std::vector<float> second(kCount, 2 * value);
  const std::vector<float> expected_first(kCount, kRanks * value);
  const std::vector<float> expected_second(kCount, 2 * kRanks * value);
  {
    const FailingAllocation failing(failing_allocation, has_failed);
    AllocationFailure::GetParam().call(comm, first, second);
  }
  if (first != expected_first || second != expected_second) throw std::runtime_error("wrong sum");
}

/// Adds up twice; the rank `victim` gets no memory at its allocation `number`. Returns whether there were that many.
bool fail_allocation(std::uint64_t number, int victim) {
  bool has_failed = false;
  std::atomic<int> successes = 0;
  CommunicatorOptions options;
  options.config = Config().set("TUTTI_CHECK", AllocationFailure::GetParam().check);
  TUTTI_EXPECT_RANKS(local_group(kRanks, options), [&](const Communicator& comm) {
    bool unused = false;
    const auto attempt = [&](float value, std::uint64_t failing_allocation, bool& failed) {
      try {
        add_up(comm, value, failing_allocation, failed);
        ++successes;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::system || error.code() == ErrorCode::aborted) << error.what();
      }
    };
    if (comm.rank() == victim)
      attempt(1.0F, number, has_failed);
    else
      attempt(1.0F, 0, unused);
    attempt(100.0F, 0, unused);
  });
  EXPECT_TRUE(successes == 2 * kRanks || has_failed);
  return has_failed;
}

TEST_P(AllocationFailure, IsNeverAWrongSum) {
  for (int victim = 0; victim < kRanks; ++victim) {
    std::uint64_t number = 1;
    while (fail_allocation(number, victim) && !HasFailure()) ++number;
    EXPECT_LT(number, 200U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Manners, AllocationFailure,
    testing::Values(Manner{"blocking", "0",
                           [](const Communicator& comm, std::vector<float>& first, std::vector<float>& second) {
                             comm.allreduce(first);
                             comm.allreduce(second);
                           }},
                    Manner{"async", "0",
                           [](const Communicator& comm, std::vector<float>& first, std::vector<float>& second) {
                             Work one = comm.allreduce(first, {.async = true});
                             Work two = comm.allreduce(second, {.async = true});
                             one.wait();
                             two.wait();
                           }},
                    Manner{"group", "0",
                           [](const Communicator& comm, std::vector<float>& first, std::vector<float>& second) {
                             GroupScope scope;  // group() takes a std::function, which allocates too
                             comm.allreduce(first);
                             comm.allreduce(second);
                             scope.end().wait();
                           }},
                    Manner{"checked", "1",
                           [](const Communicator& comm, std::vector<float>& first, std::vector<float>& second) {
                             comm.allreduce(first);
                             comm.allreduce(second);
                           }}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tutti::test
