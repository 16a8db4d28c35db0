// Several observers at once, the records of communicators, labels and leaves.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

CommunicatorOptions on_backend(const std::string& backend) {
  CommunicatorOptions options;
  options.config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_BACKEND", backend);
  return options;
}

TEST(Observers, AllGetEveryRecord) {
  const auto comm = local_group(1, on_backend("native"));
  std::vector<float> data(10, 1.0F);
  const RecordingObserver first;
  {
    const RecordingObserver second;
    comm[0].allreduce(data);
    EXPECT_EQ(second.issued().size(), 1u);
    EXPECT_EQ(second.completed().size(), 1u);
  }
  comm[0].allreduce(data);
  EXPECT_EQ(first.issued().size(), 2u);
  EXPECT_EQ(first.completed().size(), 2u);
}

TEST(Observers, MayLeaveInAnyOrder) {
  const auto comm = local_group(1, on_backend("native"));
  auto first = std::make_unique<RecordingObserver>();
  const RecordingObserver second;
  first.reset();
  comm[0].barrier();
  EXPECT_EQ(second.issued().size(), 1u);
}

TEST(Observers, NoneIsLeftBehind) {
  { const RecordingObserver observer; }
  EXPECT_EQ(observer(), nullptr);
  EXPECT_EQ(detail::attention.load(), 0u);
}

// Not one record may arrive after the handle is gone, and none may be lost while it is there.
TEST(Observers, ComeAndGoWhileOthersWork) {
  struct Mine final : Observer {
    using Observer::on;
    void on(const OpIssued&) noexcept override {
      EXPECT_TRUE(is_there.load());
      ++records;
    }
    std::atomic<bool> is_there = true;
    std::atomic<int> records = 0;
  };
  Mine always;
  const ObserverHandle is_always_there = add_observer(always);
  std::atomic<bool> is_over = false;
  std::atomic<int> calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto comm = local_group(1, on_backend("native"));
      while (!is_over) {
        comm[0].barrier();
        ++calls;
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    auto mine = std::make_unique<Mine>();
    ObserverHandle handle = add_observer(*mine);
    const int before = calls;
    while (calls < before + 3) std::this_thread::yield();
    handle.reset();
    mine->is_there = false;
    EXPECT_GT(mine->records, 0);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(always.records, calls);
}

TEST(Observers, MayRemoveThemselves) {
  struct Once final : Observer {
    using Observer::on;
    void on(const OpIssued&) noexcept override {
      ++records;
      handle.reset();
    }
    ObserverHandle handle = add_observer(*this);
    int records = 0;
  } once;
  const auto comm = local_group(1, on_backend("native"));
  comm[0].barrier();
  comm[0].barrier();
  EXPECT_EQ(once.records, 1);
}

// A removal waits for the deliveries of other threads, which may be about to remove an observer themselves.
TEST(Observers, MayAddAndRemoveOthersFromSeveralThreads) {
  struct Quiet final : Observer {};
  struct Busy final : Observer {
    using Observer::on;
    void on(const OpIssued&) noexcept override {
      const ObserverHandle handle = add_observer(other);
      ++records;
    }
    Quiet other;
    std::atomic<int> records = 0;
  };
  constexpr int kCalls = 300;
  Busy busy;
  {
    const ObserverHandle handle = add_observer(busy);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([] {
        const auto comm = local_group(1, on_backend("native"));
        for (int call = 0; call < kCalls; ++call) comm[0].barrier();
      });
    }
    threads.emplace_back([] {
      for (int i = 0; i < kCalls; ++i) const RecordingObserver passing;
    });
  }
  EXPECT_EQ(busy.records.load(), 3 * kCalls);
  EXPECT_EQ(observer(), nullptr);
}

TEST(Observers, AreToldOfCommunicators) {
  const RecordingObserver observer;
  {
    TUTTI_EXPECT_RANKS(
        2,
        [](const Communicator& comm) {
          const Communicator twin = comm.duplicate("twin");
          twin.barrier();
        },
        RankOptions{.communicator = on_backend("native")});
  }
  const auto created = observer.created();
  ASSERT_EQ(created.size(), 4u);
  std::set<std::uint64_t> ids;
  for (const auto& one : created) {
    ids.insert(one.communicator);
    EXPECT_EQ(one.backend, "native");
    EXPECT_EQ(one.size, 2);
    EXPECT_EQ(one.hosts.size(), 2u);
    EXPECT_EQ(one.hosts[0].find('/'), std::string::npos) << one.hosts[0];
    EXPECT_EQ(one.parent != 0, one.name == "twin") << one.name;
    EXPECT_TRUE(one.parent == 0 || ids.contains(one.parent));
  }
  const auto destroyed = observer.destroyed();
  EXPECT_EQ(std::set<std::uint64_t>(destroyed.begin(), destroyed.end()), ids);
  EXPECT_EQ(destroyed.size(), 4u);
}

TEST(Observers, AddedLaterAreToldOfTheCommunicatorsThatExist) {
  auto comms = local_group(2, on_backend("native"));
  const RecordingObserver observer;
  EXPECT_EQ(observer.created().size(), 2u);
  comms.clear();
  EXPECT_EQ(observer.destroyed().size(), 2u);
}

TEST(Observers, SeeLabels) {
  const auto comm = local_group(1, on_backend("native"));
  const RecordingObserver observer;
  std::vector<float> data(10, 1.0F);
  comm[0].allreduce(data, {.label = "layer1.weight"});
  comm[0].broadcast(data, 0, {.label = "layer2.bias"});
  comm[0].barrier();
  const auto issued = observer.issued();
  ASSERT_EQ(issued.size(), 3u);
  EXPECT_EQ(issued[0].label, "layer1.weight");
  EXPECT_EQ(issued[1].label, "layer2.bias");
  EXPECT_EQ(issued[2].label, "");
}

TEST(Observers, SeeTheLeafThatCarriesAnOperationOut) {
  const auto comms = local_group(2, on_backend("fake_composite"));
  const RecordingObserver observer;
  std::vector<float> data(1000, 1.0F);
  const auto on_both = [&](std::size_t count) {
    std::thread other([&] { comms[1].allreduce(Buffer(data.data() + 500, count)); });
    comms[0].allreduce(Buffer(data.data(), count));
    other.join();
  };
  on_both(4);
  on_both(400);
  std::multiset<std::string> leaves;
  for (const auto& issued : observer.issued()) leaves.insert(issued.backend);
  EXPECT_EQ(leaves, (std::multiset<std::string>{"fake_decorator:native", "fake_decorator:native", "native", "native"}));
  EXPECT_EQ(comms[0].backend(), "fake_composite");
}

}  // namespace
}  // namespace tutti::test
