// Groups over several communicators, and over several ranks that one thread holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "conformance/cases/one_of_each.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "tutti/group.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

class Groups : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static RankOptions options() {
    RankOptions result;
    result.communicator.config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_BACKEND", GetParam());
    return result;
  }
  [[nodiscard]] static std::vector<Communicator> ranks(int size) { return local_group(size, options().communicator); }
};

// As a program does whose one thread drives several devices: ncclCommInitAll, then a group per step.
TEST_P(Groups, OneThreadHoldsAllRanks) {
  for (const int size : {1, 2, 3, 4}) {
    const auto comms = ranks(size);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1009}, std::size_t{300'000}}) {
      std::vector<std::vector<float>> data(comms.size());
      for (std::size_t r = 0; r < comms.size(); ++r) data[r].assign(count, static_cast<float>(r + 1));
      group([&] {
        for (std::size_t r = 0; r < comms.size(); ++r) comms[r].allreduce(data[r]);
      }).wait();
      const auto sum = static_cast<float>(size * (size + 1) / 2);
      for (const auto& result : data) EXPECT_EQ(result, std::vector<float>(count, sum)) << size << " " << count;
    }
  }
}

TEST_P(Groups, OneThreadCallsEveryOperationOfAllRanks) {
  const auto comms = ranks(3);
  for (const OpTraits& row : kOpTraits) {
    SCOPED_TRACE(row.name);
    std::vector<OneOfEach> buffers;
    buffers.reserve(comms.size());
    for (const Communicator& comm : comms) buffers.emplace_back(comm, 100);
    Work work = group([&] {
      for (OneOfEach& of_rank : buffers) of_rank.run(row.kind);
    });
    EXPECT_TRUE(work.wait_for(60s * kDeadlineFactor));
  }
}

TEST_P(Groups, SeveralCommunicatorsOfEachRank) {
  TUTTI_EXPECT_RANKS(
      4,
      [](const Communicator& comm) {
        const Communicator twin = comm.duplicate("twin");
        const Communicator half = comm.split(comm.rank() % 2);
        const int left = (comm.rank() + 3) % 4;
        const int right = (comm.rank() + 1) % 4;
        std::vector<float> sum(1000, 1.0F);
        std::vector<float> half_sum(1000, 1.0F);
        std::int64_t sent = comm.rank();
        std::int64_t got = -1;
        // The ranks name the communicators in different orders.
        Work work = group([&] {
          if (comm.rank() % 2 == 0) twin.allreduce(sum);
          comm.send(ConstBuffer(&sent, 1), right);
          half.allreduce(half_sum);
          comm.recv(Buffer(&got, 1), left);
          if (comm.rank() % 2 == 1) twin.allreduce(sum);
        });
        work.wait();
        EXPECT_EQ(sum, std::vector<float>(1000, 4.0F));
        EXPECT_EQ(half_sum, std::vector<float>(1000, 2.0F));
        EXPECT_EQ(got, left);
      },
      options());
}

TEST_P(Groups, ReturnsBeforeTheOperationsAreComplete) {
  const auto comms = ranks(2);
  std::vector<float> first(1000, 1.0F);
  std::vector<float> second(1000, 2.0F);
  Work early = group([&] { comms[0].allreduce(first); });
  EXPECT_FALSE(early.ready());
  EXPECT_FALSE(early.wait_for(10ms));
  Work late = group([&] { comms[1].allreduce(second); });
  // Each of the two needs the other to progress.
  while (!early.ready() || !late.ready()) {
  }
  early.wait();
  late.wait();
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[999], 3.0F);
}

TEST_P(Groups, NestedGroupsAreOneGroup) {
  const auto comms = ranks(2);
  std::vector<float> first(10, 1.0F);
  std::vector<float> second(10, 2.0F);
  GroupScope outer;
  comms[0].allreduce(first);
  {
    GroupScope inner;
    comms[1].allreduce(second);
    Work nothing = inner.end();
    EXPECT_TRUE(nothing.ready());
    EXPECT_EQ(second[0], 2.0F) << "the outer group starts the operations";
  }
  outer.end().wait();
  EXPECT_EQ(second, std::vector<float>(10, 3.0F));
}

TEST_P(Groups, AnExceptionDiscardsWhatWasCollectedSinceTheGroupWasOpened) {
  const auto comms = ranks(2);
  std::vector<float> kept(10, 1.0F);
  std::vector<float> other(10, 2.0F);
  std::vector<float> discarded(10, 5.0F);
  group([&] {
    comms[0].allreduce(kept);
    EXPECT_THROW(group([&] {
                   comms[0].allreduce(discarded);
                   throw std::runtime_error("no");
                 }).wait(),
                 std::runtime_error);
    comms[1].allreduce(other);
  }).wait();
  EXPECT_EQ(kept, std::vector<float>(10, 3.0F));
  EXPECT_EQ(discarded, std::vector<float>(10, 5.0F));
}

TEST_P(Groups, NewCommunicatorsAndBlockingGroupsAreRefusedWhileOneIsOpen) {
  const auto comms = ranks(1);
  const GroupScope open;
  (void)error_of([&] { (void)comms[0].duplicate(); }, ErrorCode::invalid_usage);
  (void)error_of([&] { (void)comms[0].split(0); }, ErrorCode::invalid_usage);
  (void)error_of([&] { comms[0].group([] {}); }, ErrorCode::invalid_usage);
}

TEST_P(Groups, ThreadsHaveGroupsOfTheirOwn) {
  const auto comms = ranks(2);
  std::vector<float> first(10, 1.0F);
  const GroupScope open;  // of this thread: the other one's call is carried out
  std::thread other([&] {
    std::vector<float> second(10, 2.0F);
    Work work = comms[1].allreduce(second, {.async = true});
    EXPECT_FALSE(work.ready());
    std::thread third([&] { comms[0].allreduce(first); });
    work.wait();
    third.join();
    EXPECT_EQ(second[3], 3.0F);
  });
  other.join();
  EXPECT_EQ(first[3], 3.0F);
}

TEST_P(Groups, EmptyGroupIsComplete) {
  Work work = group([] {});
  EXPECT_TRUE(work.ready());
  work.wait();
}

TEST_P(Groups, LateRankIsATimeoutOfTheWholeGroup) {
  const auto comms = ranks(2);
  const auto others = ranks(2);
  std::vector<float> data(10, 1.0F);
  std::vector<float> more(10, 1.0F);
  Work work = group([&] {
    comms[0].allreduce(data, {.timeout = 100ms});
    others[0].barrier({.timeout = 100ms});
  });
  (void)error_of([&] { work.wait(); }, ErrorCode::timeout);
  ASSERT_NE(work.error(), nullptr);
  EXPECT_EQ(work.error()->code(), ErrorCode::timeout);
}

TEST_P(Groups, EveryOperationIsObserved) {
  const auto comms = ranks(2);
  const RecordingObserver observer;
  std::vector<float> a(10, 1.0F);
  std::vector<float> b(10, 1.0F);
  group([&] {
    comms[0].allreduce(a);
    comms[1].allreduce(b);
    comms[0].barrier();
    comms[1].barrier();
  }).wait();
  EXPECT_EQ(observer.issued().size(), 4u);
  const auto completed = observer.completed();
  EXPECT_EQ(completed.size(), 4u);
  for (const auto& one : completed) EXPECT_EQ(one.error, ErrorCode::ok);
}

INSTANTIATE_TEST_SUITE_P(Backends, Groups,
                         testing::Values("native", "minimal", "fake_decorator:native", "fake_composite"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace tutti::test
