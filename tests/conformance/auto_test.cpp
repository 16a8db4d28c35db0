// Communicators of `auto` that route operations by pins and tuning files, on ranks that are threads: the conformance
// suite, creation of leaves on use, explain(), and what makes auto keep to one backend.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "conformance/auto_support.hpp"
#include "conformance/cases/plan.hpp"
#include "conformance/cases/scenarios.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

/// Messages from 256 bytes on go to a composite with all operations, allreduces from 2 KiB on to the fake with few.
std::string pins_of_all() {
  std::string pins = "allreduce:2K-=minimal,";
  for (const OpTraits& row : kOpTraits) {
    if (!is_message(row.kind)) pins += std::string(row.name) + ":256-=fake_composite,";
  }
  pins.pop_back();
  return pins;
}

TuningRow allreduce_row(std::uint64_t from, std::uint64_t to, std::vector<TunedBackend> backends) {
  return {.op = OpKind::allreduce,
          .types = TypeClass::floating,
          .ranks_from = 1,
          .ranks_to = 64,
          .from = from,
          .to = to,
          .backends = std::move(backends)};
}

/// native below 1 KiB, minimal above; the second of each row is known, too.
TuningTable split_table() {
  return table_of({allreduce_row(0, 1 << 10, {{"native", {{4, 1}}}, {"minimal", {{4, 3}}}}),
                   allreduce_row(1 << 10, kNoLimit, {{"minimal", {{1 << 20, 100}}}, {"native", {{1 << 20, 150}}}})});
}

class Auto : public testing::Test {
 protected:
  Config with_table(const std::string& text) {
    Config config;
    config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_TUNING", folder.add("tuning", text));
    return config;
  }
  TemporaryFolder folder;
};

class AutoConformance : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(const Communicator&, Report&)>& body, bool has_checks = true) {
    run_on_auto(GetParam(), with_pins(pins_of_all()), body, has_checks);
  }
};

TEST_P(AutoConformance, EveryOperation) {
  const auto plan = make_plan({.ranks = GetParam(), .seed = 1, .coverage = Coverage::rotated, .large = false});
  run([&](const Communicator& comm, Report& report) { run_plan(comm, plan, report); });
}

TEST_P(AutoConformance, Scenarios) {
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    run([&](const Communicator& comm, Report& report) { run_scenario(scenario, comm, 1, report); },
        GetParam() > 1 || !scenario.needs_peers);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AutoConformance, testing::Values(1, 2, 3));

TEST_F(Auto, RoutesByTheTableAndSaysSo) {
  const RecordingObserver observer;
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        std::vector<float> data(1000, 1.0F);
        comm.allreduce(Buffer(data.data(), 255));
        comm.allreduce(Buffer(data.data(), 256));
        EXPECT_EQ(data[0], 4.0F);
        EXPECT_EQ(data[255], 2.0F);

        const Explanation small = comm.explain(OpKind::allreduce, 1000);
        EXPECT_EQ(small.backend, "native");
        EXPECT_EQ(small.next_best, "minimal");
        EXPECT_GT(small.next_best_us, small.expected_us);
        const Explanation large = comm.explain(OpKind::allreduce, 1 << 20);
        EXPECT_EQ(large.backend, "minimal");
        expect_words(large.reason,
                     {"/tuning has it as the fastest of allreduce on host memory from 1 KiB", "floating"});
        EXPECT_EQ(large.expected_us, 100);
        EXPECT_EQ(large.next_best, "native");
        EXPECT_EQ(large.next_best_us, 150);
        const Explanation other = comm.explain(OpKind::allreduce, 1 << 20, DataType::int32);
        EXPECT_EQ(other.backend, "native");
        expect_words(other.reason, {"highest preference", "has no row that applies"});
        EXPECT_EQ(comm.explain(OpKind::allreduce, 1 << 20, DataType::float32, Reduction::max).backend, "native")
            << "minimal has no such reduction";
      },
      {.communicator = {.config = with_table(to_text(split_table()))}});
  std::multiset<std::string> leaves;
  for (const auto& issued : observer.issued()) leaves.insert(issued.backend);
  EXPECT_EQ(leaves, (std::multiset<std::string>{"minimal", "minimal", "native", "native"}));
}

TEST_F(Auto, PinsComeBeforeTheTable) {
  Config config = with_table(to_text(split_table()));
  config.set("TUTTI_PIN", "allreduce:1M=native");
  const auto group = local_group(2, {.config = config});
  EXPECT_EQ(group[0].explain(OpKind::allreduce, 1 << 20).backend, "native");
  expect_words(group[0].explain(OpKind::allreduce, 1 << 20).reason, {"TUTTI_PIN has allreduce:1M=native"});
  EXPECT_EQ(group[0].explain(OpKind::allreduce, (1 << 20) + 4).backend, "minimal");
}

TEST_F(Auto, KeepsToOneBackendWhereBitsMustNotChange) {
  Config config = with_table(to_text(split_table()));
  config.set("TUTTI_REPRODUCIBLE", "1");
  EXPECT_EQ(local_group(2, {.config = config})[0].backend(), "native");
  config.set("TUTTI_REPRODUCIBLE", "0").set("TUTTI_TUNING", "none");
  EXPECT_EQ(local_group(2, {.config = config})[0].backend(), "native");
  config.set("TUTTI_TUNING", folder.file("tuning")).set("TUTTI_BACKEND", "minimal");
  EXPECT_EQ(local_group(2, {.config = config})[0].backend(), "minimal");
}

TEST_F(Auto, SaysWhyItDoesNotUseAFile) {
  const auto reason = [&](const std::string& text) {
    const auto group = local_group(2, {.config = with_table(text)});
    EXPECT_EQ(group[0].backend(), "native");
    return group[0].explain(OpKind::allreduce).reason;
  };
  expect_words(reason("nonsense"), {"is not used", "line 1"});
  TuningTable table = split_table();
  table.machine.cpu = "Abacus";
  expect_words(reason(to_text(table)), {"is not used", "Abacus"});
  table = split_table();
  table.tutti = "0.0.1";
  expect_words(reason(to_text(table)), {"is not used", "0.0.1"});
}

TEST_F(Auto, TakesTheNextOneForALeafThatIsNotUsable) {
  const TuningTable table = table_of({allreduce_row(0, kNoLimit, {{"gone", {}}, {"minimal", {}}})});
  const auto group = local_group(2, {.config = with_table(to_text(table))});
  const Explanation why = group[0].explain(OpKind::allreduce, 64);
  EXPECT_EQ(why.backend, "minimal");
  expect_words(why.reason, {"gone is no backend"});
  Config strict = with_table(to_text(table));
  strict.set("TUTTI_STRICT", "1");
  expect_words(error_of([&] { (void)local_group(2, {.config = strict}); }, ErrorCode::backend_unavailable),
               {"gone", "TUTTI_STRICT"});
}

/// Creates a communicator on each rank with a configuration of its own; returns the error of each, or the backend.
std::vector<std::string> create_with(const std::vector<Config>& configs) {
  const auto meeting = local_rendezvous(static_cast<int>(configs.size()));
  std::vector<std::string> outcomes(configs.size());
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < configs.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        const Communicator comm(meeting[rank], {.config = configs[rank]});
        outcomes[rank] = std::string(comm.backend()) + ": " + comm.explain(OpKind::allreduce, 1 << 20).reason;
      } catch (const Error& error) {
        outcomes[rank] = "error: " + std::string(error.what());
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return outcomes;
}

TEST_F(Auto, RefusesTablesThatDiffer) {
  const Config one = with_table(to_text(split_table()));
  Config other = one;
  TuningTable table = split_table();
  table.rows[0].to = table.rows[1].from = 2 << 10;
  other.set("TUTTI_TUNING", folder.add("other", to_text(table)));
  for (const std::string& outcome : create_with({one, one, other})) {
    expect_words(outcome, {"error: ", "different tuning tables", "rank 2", "rank 0"});
  }
  Config pinned = one;
  pinned.set("TUTTI_PIN", "allreduce=native");
  for (const std::string& outcome : create_with({one, pinned})) expect_words(outcome, {"error: TUTTI_PIN", "rank 1"});
}

TEST_F(Auto, UsesNoTableThatARankLacks) {
  const Config one = with_table(to_text(split_table()));
  Config none = one;
  none.set("TUTTI_TUNING", "none");
  const auto outcomes = create_with({one, none});
  expect_words(outcomes[0], {"native: ", "is not used: rank 1 has none"});
  EXPECT_TRUE(outcomes[1].starts_with("native: "));
}

// A rank may wait for an operation or a message of another leaf before it comes to create the late one.
TEST_F(Auto, PendingOperationsGoOnWhileALeafIsCreated) {
  TUTTI_EXPECT_RANKS(2,
                     [](const Communicator& comm) {
                       std::vector<float> small(4, 1.0F);
                       std::vector<float> large(100000, 1.0F);
                       std::vector<float> message(1 << 20, 5.0F);
                       if (comm.rank() == 0) {
                         Work first = comm.allreduce(small, {.async = true});
                         Work sent = comm.send(message, 1, {.async = true});
                         comm.allreduce(large);
                         first.wait();
                         sent.wait();
                       } else {
                         comm.allreduce(small);
                         comm.recv(message, 0);
                         comm.allreduce(large);
                       }
                       EXPECT_EQ(small[3], 2.0F);
                       EXPECT_EQ(large[99999], 2.0F);
                     },
                     {.communicator = {.config = with_table(to_text(split_table()))}});
}

// Messages do not wait for a collective, also while that one creates its leaf on the progress thread.
TEST_F(Auto, MessagesGoOnBesideTheThreadThatCreatesALeaf) {
  Config config = with_table(to_text(split_table()));
  config.set("TUTTI_PROGRESS_THREAD", "1");
  TUTTI_EXPECT_RANKS(2,
                     [](const Communicator& comm) {
                       std::vector<float> large(1000, 1.0F);
                       std::vector<float> message(10, 5.0F);
                       if (comm.rank() == 0) {
                         Work work = comm.allreduce(large, {.async = true});
                         comm.send(message, 1);
                         work.wait();
                       } else {
                         comm.recv(message, 0);
                         Work work = comm.allreduce(large, {.async = true});
                         work.wait();
                       }
                       EXPECT_EQ(large[999], 2.0F);
                     },
                     {.communicator = {.config = config}});
}

TEST_F(Auto, SeveralOperationsWaitForTheSameLeafInTheirOrder) {
  TUTTI_EXPECT_RANKS(3,
                     [](const Communicator& comm) {
                       std::vector<std::vector<float>> data(5, std::vector<float>(1000));
                       std::vector<Work> works;
                       for (std::size_t i = 0; i < data.size(); ++i) {
                         std::fill(data[i].begin(), data[i].end(), static_cast<float>(i + 1));
                         works.push_back(comm.allreduce(data[i], {.async = true}));
                       }
                       for (std::size_t i = works.size(); i-- > 0;) works[i].wait();
                       for (std::size_t i = 0; i < data.size(); ++i)
                         EXPECT_EQ(data[i][7], 3.0F * static_cast<float>(i + 1));
                     },
                     {.communicator = {.config = with_table(to_text(split_table()))}});
}

TEST_F(Auto, RankThatDoesNotComeToALateLeafIsNamed) {
  std::atomic<bool> is_over = false;
  TUTTI_EXPECT_RANKS(
      2,
      [&](const Communicator& comm) {
        std::vector<float> large(1000, 1.0F);
        if (comm.rank() == 0) {
          const std::string late = error_of([&] { comm.allreduce(large, {.timeout = 200ms}); }, ErrorCode::timeout);
          expect_words(late, {"timed out before minimal was created", "rank 1 has not entered"});
          is_over = true;
          is_over.notify_all();
          (void)error_of([&] { comm.allreduce(Buffer(large.data(), 1)); }, ErrorCode::timeout);
        } else {
          is_over.wait(false);
          expect_words(error_of([&] { comm.allreduce(large); }, ErrorCode::timeout), {"rank 1 has not entered"});
        }
      },
      {.communicator = {.config = with_table(to_text(split_table()))}});
}

TEST_F(Auto, AbortEndsTheWaitForALateLeafOnAllRanks) {
  TUTTI_EXPECT_RANKS(2,
                     [](const Communicator& comm) {
                       std::vector<float> large(1000, 1.0F);
                       if (comm.rank() == 0) {
                         comm.abort();
                       } else {
                         (void)error_of([&] { comm.allreduce(large); }, ErrorCode::aborted);
                       }
                     },
                     {.communicator = {.config = with_table(to_text(split_table()))}});
}

TEST_F(Auto, AnotherCommunicatorOfTheSameRanksIsIndependent) {
  TUTTI_EXPECT_RANKS(2,
                     [](const Communicator& comm) {
                       std::vector<float> large(1000, 1.0F);
                       const Communicator copy = comm.duplicate();
                       EXPECT_EQ(copy.backend(), "auto");
                       std::thread other([&] {
                         std::vector<float> own(1000, 1.0F);
                         for (int i = 0; i < 20; ++i) copy.allreduce(own);
                       });
                       for (int i = 0; i < 20; ++i) comm.allreduce(large);
                       other.join();
                       const Communicator half = comm.split(comm.rank());
                       half.allreduce(large);
                       EXPECT_EQ(half.explain(OpKind::allreduce, 4000).backend, "minimal");
                     },
                     {.communicator = {.config = with_table(to_text(split_table()))}});
}

TEST_F(Auto, ExplainsAJobThatDoesNotExistYet) {
  const Config config = with_table(to_text(split_table()));
  const Explanation why = explain_auto(config, 2, OpKind::allreduce, 4 << 20);
  EXPECT_EQ(why.backend, "native") << "minimal serves threads only";
  expect_words(why.reason, {"minimal is not usable", "not threads"});
  EXPECT_EQ(why.expected_us, 600);
  (void)error_of([&] { (void)explain_auto(config, 0, OpKind::allreduce, 1); }, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tutti::test
