// Backends that stand on others: every call of a decorator arrives, a composite routes, progresses and fails as one.
#include "tutti/spi/nested.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/refusals.hpp"
#include "tutti/spi/composite.hpp"

namespace tutti::spi {
namespace {

/// An operation that completes after as many looks as it was told, also looks at it from other operations.
class Countdown final : public PendingOperation {
 public:
  explicit Countdown(std::atomic<int>& left) : left_(left) {}

 private:
  bool do_poll() override { return left_-- <= 0; }
  bool do_wait(Deadline) override { return left_-- <= 0; }
  std::atomic<int>& left_;
};

/// Counts the calls that arrive.
class Counting final : public BackendCommunicator {
 public:
  explicit Counting(const Capabilities& capabilities = Capabilities::all()) : BackendCommunicator(capabilities) {}
  std::map<std::string, int> calls;
  std::atomic<int> left = 0;  ///< looks until a started operation is complete
  bool is_watched = true;
  std::function<void()> in_run;  ///< called by run()
  std::optional<Error> failure;

 private:
  void do_run(const Operation&) override {
    ++calls["run"];
    if (in_run) in_run();
    if (failure) throw Error(*failure);
  }
  bool do_may_reach(const Operation&) const override {
    ++const_cast<Counting*>(this)->calls["may_reach"];
    return true;
  }
  bool do_reaches(const Operation&) override {
    ++calls["reaches"];
    return true;
  }
  std::unique_ptr<PendingOperation> do_start(const Operation&) override {
    ++calls["start"];
    return std::make_unique<Countdown>(left);
  }
  std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations) override {
    calls["start_group"] += static_cast<int>(operations.size());
    return std::make_unique<Countdown>(left);
  }
  void do_abort() noexcept override { ++calls["abort"]; }
  [[nodiscard]] bool do_needs_watch() const noexcept override {
    ++const_cast<Counting*>(this)->calls["needs_watch"];
    return is_watched;
  }
  bool do_interrupt(const Error&) noexcept override {
    ++calls["interrupt"];
    return true;
  }
  void do_close() noexcept override { ++calls["close"]; }
};

class Forwarding final : public ForwardingCommunicator {
 public:
  explicit Forwarding(std::unique_ptr<BackendCommunicator> inner) : ForwardingCommunicator(std::move(inner)) {}
};

Operation allreduce_of(std::uint64_t count) {
  Operation op;
  op.kind = OpKind::allreduce;
  op.type = DataType::float32;
  op.count = count;
  return op;
}

TEST(ForwardingCommunicator, PassesEveryCallOn) {
  auto owned = std::make_unique<Counting>(Capabilities().add(OpKind::allreduce).add(Reduction::max, DataType::int8));
  Counting& inner = *owned;
  Forwarding outer(std::move(owned));
  EXPECT_TRUE(outer.capabilities().has(OpKind::allreduce));
  EXPECT_TRUE(outer.capabilities().has(Reduction::max, DataType::int8));
  EXPECT_FALSE(outer.capabilities().has(OpKind::barrier));

  const Operation op = allreduce_of(1);
  const std::array<Operation, 2> group = {op, op};
  outer.run(op);
  EXPECT_TRUE(outer.may_reach(op));
  EXPECT_TRUE(outer.reaches(op));
  (void)outer.start(op)->wait(Deadline::max());
  (void)outer.start_group(group)->wait(Deadline::max());
  outer.run_group(group);
  outer.abort();
  EXPECT_TRUE(outer.needs_watch());
  EXPECT_TRUE(outer.interrupt(Error(ErrorCode::peer_failure, "rank 1 died")));
  outer.close();
  EXPECT_EQ(inner.calls, (std::map<std::string, int>{{"run", 1},
                                                     {"may_reach", 1},
                                                     {"reaches", 1},
                                                     {"start", 1},
                                                     {"start_group", 4},
                                                     {"abort", 1},
                                                     {"needs_watch", 1},
                                                     {"interrupt", 1},
                                                     {"close", 1}}));
  EXPECT_EQ(&outer.route(op), &outer) << "a decorator executes, it does not route";
}

/// Up to 8 elements to the first leaf.
class ByCount final : public CompositeCommunicator {
 public:
  explicit ByCount(std::vector<std::unique_ptr<BackendCommunicator>> leaves)
      : CompositeCommunicator(std::move(leaves)) {}

 private:
  [[nodiscard]] std::size_t choose(const Operation& operation) const noexcept override {
    return operation.count <= 8 ? 0 : 1;
  }
};

class Composite : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::unique_ptr<BackendCommunicator>> leaves;
    leaves.push_back(std::make_unique<Counting>());
    leaves.push_back(
        std::make_unique<Counting>(Capabilities().add(OpKind::allreduce).add(Reduction::sum, DataType::float32)));
    first = static_cast<Counting*>(leaves[0].get());
    second = static_cast<Counting*>(leaves[1].get());
    composite = std::make_unique<ByCount>(std::move(leaves));
  }
  Counting* first = nullptr;
  Counting* second = nullptr;
  std::unique_ptr<ByCount> composite;
  const Operation small = allreduce_of(8);
  const Operation large = allreduce_of(9);
};

TEST_F(Composite, RoutesEveryCallToItsLeaf) {
  composite->run(small);
  composite->run(large);
  composite->run(large);
  composite->route(large).run(large);
  EXPECT_EQ(first->calls["run"], 1);
  EXPECT_EQ(second->calls["run"], 3);
  const std::array<Operation, 3> group = {large, small, large};
  composite->run_group(group);
  EXPECT_EQ(first->calls["start_group"], 1);
  EXPECT_EQ(second->calls["start_group"], 2);
  EXPECT_TRUE(composite->may_reach(small) && composite->reaches(large));
  EXPECT_EQ(first->calls["may_reach"], 1);
  EXPECT_EQ(second->calls["reaches"], 1);
}

TEST_F(Composite, HasWhatAllLeavesHave) {
  EXPECT_TRUE(composite->capabilities().takes(small));
  EXPECT_FALSE(composite->capabilities().has(OpKind::barrier));
  Operation other = small;
  other.reduction = Reduction::max;
  EXPECT_FALSE(composite->capabilities().takes(other));
  EXPECT_TRUE(composite->route(other).capabilities().takes(other)) << "the leaf itself has it";
}

// A peer may wait for the operation of the first leaf before it calls that of the second.
TEST_F(Composite, WaitForOneLeafProgressesTheOther) {
  first->left = 5;
  second->left = 100;
  const auto pending_first = composite->start(small);
  const auto pending_second = composite->start(large);
  while (!pending_second->wait(Deadline::max())) {
  }
  EXPECT_LT(first->left, 0) << "nobody looked at the operation of the first leaf";
  EXPECT_TRUE(pending_first->poll());
}

TEST_F(Composite, BlockingCallProgressesWhatIsPendingOnAnotherLeaf) {
  first->left = 3;
  second->left = 50;
  second->is_watched = false;
  const auto pending = composite->start(small);
  composite->run(large);
  EXPECT_EQ(second->calls["run"], 0) << "a blocking call of the leaf would look at nothing else";
  EXPECT_LT(first->left, 0);
  EXPECT_TRUE(pending->wait(Deadline::max()));
}

// The blocking and the non-blocking function of a library need not match, so that all ranks have to call the same one.
TEST_F(Composite, LibraryGetsItsBlockingCallBesideWhatIsPendingOnAnotherLeaf) {
  first->left = 3;
  second->in_run = [this] {
    for (const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
         first->left >= 0 && std::chrono::steady_clock::now() < deadline;)
      std::this_thread::yield();
  };
  const auto pending = composite->start(small);
  composite->run(large);
  EXPECT_EQ(second->calls["run"], 1);
  EXPECT_EQ(second->calls["start"], 0);
  EXPECT_LT(first->left, 0) << "the operation of the first leaf stood still during the blocking call";
  EXPECT_TRUE(pending->wait(Deadline::max()));
}

TEST_F(Composite, FailureOfALeafEndsAll) {
  first->failure = Error(ErrorCode::peer_failure, "rank 2 died", "one");
  EXPECT_NE(test::error_of([&] { composite->run(small); }, ErrorCode::peer_failure).find("rank 2"), std::string::npos);
  EXPECT_EQ(second->calls["abort"], 1);
  const std::string later = test::error_of([&] { composite->run(large); }, ErrorCode::peer_failure);
  EXPECT_NE(later.find("rank 2 died"), std::string::npos) << later;
  EXPECT_EQ(second->calls["run"], 0);
}

TEST_F(Composite, RefusedCallEndsNothing) {
  first->failure = Error(ErrorCode::unsupported, "not this", "one");
  (void)test::error_of([&] { composite->run(small); }, ErrorCode::unsupported);
  composite->run(large);
  EXPECT_EQ(second->calls["run"], 1);
  EXPECT_EQ(second->calls["abort"], 0);
}

TEST_F(Composite, AbortReachesAllLeaves) {
  composite->route(small).abort();
  EXPECT_EQ(first->calls["abort"], 1);
  EXPECT_EQ(second->calls["abort"], 1);
}

TEST(CommonBytes, IsKnownWhereAllRanksKnowIt) {
  const std::array<std::uint64_t, 3> counts = {1, 2, 3};
  Operation op = allreduce_of(10);
  EXPECT_EQ(common_bytes(op, 3), 40u);
  op.kind = OpKind::allgatherv;
  op.count = 2;  // this rank's own
  op.output_layout.counts = counts.data();
  EXPECT_EQ(common_bytes(op, 3), 24u);
  op.kind = OpKind::reduce_scatterv;
  op.input_layout.counts = counts.data();
  EXPECT_EQ(common_bytes(op, 3), 24u);
  for (const OpKind kind : {OpKind::gatherv, OpKind::scatterv, OpKind::alltoallv}) {
    op.kind = kind;
    EXPECT_EQ(common_bytes(op, 3), std::nullopt) << name(kind);
  }
}

TEST(Subset, KeepsTheMembers) {
  const Peers all{.rank = 2,
                  .size = 4,
                  .hosts = {"a", "a", "b", "b"},
                  .pids = {1, 2, 3, 3},
                  .numa_nodes = {0, 1, 0, 1},
                  .same_host = false,
                  .same_process = false};
  const std::array<int, 2> host_b = {3, 2};
  const Peers some = subset(all, host_b);
  EXPECT_EQ(some.rank, 1);
  EXPECT_EQ(some.size, 2);
  EXPECT_EQ(some.hosts, (std::vector<std::string>{"b", "b"}));
  EXPECT_EQ(some.pids, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(some.numa_nodes, (std::vector<int>{1, 0}));
  EXPECT_TRUE(some.same_host);
  EXPECT_TRUE(some.same_process);
  const std::array<int, 2> leaders = {0, 2};
  EXPECT_FALSE(subset(all, leaders).same_host);
}

}  // namespace
}  // namespace tutti::spi
