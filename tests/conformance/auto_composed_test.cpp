// Operations that auto carries out by two others of the same backend: the conformance suite, and messages beside them.
#include <gtest/gtest.h>

#include <tuple>

#include "conformance/auto_support.hpp"
#include "conformance/cases/plan.hpp"
#include "conformance/cases/scenarios.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

/// Every operation that can be composed is, by another composition from 1 KiB on.
TuningTable composed_table() {
  TuningTable table = table_of({});
  const auto add = [&](OpKind op, TypeClass types, Composition small, Composition large) {
    for (const auto& [from, to, composition] : {std::tuple(std::uint64_t{0}, std::uint64_t{1} << 10, small),
                                                std::tuple(std::uint64_t{1} << 10, kNoLimit, large)}) {
      TuningRow row{.op = op, .types = types, .ranks_from = 1, .ranks_to = 64, .from = from, .to = to, .backends = {}};
      row.backends = {{"native", {{4, 1}}, composition}};
      if (composition != Composition::none) row.backends.push_back({"native", {{4, 2}}});
      table.rows.push_back(std::move(row));
    }
  };
  using enum Composition;
  add(OpKind::allreduce, TypeClass::floating, reduce_scatter_allgather, reduce_broadcast);
  add(OpKind::allreduce, TypeClass::half, halves, reduce_scatter_allgather);
  add(OpKind::allreduce, TypeClass::integer, reduce_broadcast, reduce_scatter_allgather);
  add(OpKind::allgather, TypeClass::any, gather_broadcast, gather_broadcast);
  add(OpKind::broadcast, TypeClass::any, none, halves);
  add(OpKind::reduce, TypeClass::floating, halves, halves);
  return table;
}

class Composed : public testing::TestWithParam<int> {
 protected:
  void run_composed(const std::function<void(const Communicator&, Report&)>& body, bool has_checks = true) {
    run_on_auto(GetParam(), config(), body, has_checks);
  }
  Config config() {
    Config with_table = with_pins("");
    with_table.set("TUTTI_TUNING", folder.add("tuning", to_text(composed_table())));
    return with_table;
  }

  TemporaryFolder folder;
};

TEST_P(Composed, EveryOperation) {
  const auto plan = make_plan({.ranks = GetParam(), .seed = 2, .coverage = Coverage::rotated, .large = false});
  run_composed([&](const Communicator& comm, Report& report) { run_plan(comm, plan, report); });
}

TEST_P(Composed, Scenarios) {
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    run_composed([&](const Communicator& comm, Report& report) { run_scenario(scenario, comm, 1, report); },
                 GetParam() > 1 || !scenario.needs_peers);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Composed, testing::Values(1, 2, 3));

class ComposedPair : public Composed {};
INSTANTIATE_TEST_SUITE_P(Ranks, ComposedPair, testing::Values(2));

TEST_P(ComposedPair, SaysThatAnOperationIsComposed) {
  const auto group = local_group(2, {.config = config()});
  const Explanation why = group[0].explain(OpKind::allreduce, 4 << 10);
  EXPECT_EQ(why.backend, "native");
  EXPECT_FALSE(why.emulated);
  expect_words(why.reason, {"auto carries it out as reduce + broadcast"});
  EXPECT_EQ(why.next_best, "native");
  const Explanation whole = group[0].explain(OpKind::broadcast, 64);
  EXPECT_EQ(whole.reason.find("carries it out as"), std::string::npos);
}

// A composed operation has a second part, which a message between the ranks must not wait for.
TEST_P(ComposedPair, MessagesGoOnBesideAComposedOperation) {
  TUTTI_EXPECT_RANKS(2,
                     [](const Communicator& comm) {
                       std::vector<float> data(1000, 1.0F);
                       std::vector<float> more(1000, 2.0F);
                       std::vector<float> message(10, 5.0F);
                       if (comm.rank() == 0) {
                         Work work = comm.allreduce(data, {.async = true});
                         comm.send(message, 1);
                         comm.allreduce(more);  // blocking here, asynchronous there
                         work.wait();
                       } else {
                         comm.recv(message, 0);
                         Work work = comm.allreduce(data, {.async = true});
                         Work next = comm.allreduce(more, {.async = true});
                         next.wait();
                         work.wait();
                       }
                       EXPECT_EQ(data[999], 2.0F);
                       EXPECT_EQ(more[999], 4.0F);
                     },
                     {.communicator = {.config = config()}});
}

}  // namespace
}  // namespace tutti::test
