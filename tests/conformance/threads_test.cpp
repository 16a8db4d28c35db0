// The conformance suite on ranks that are threads: on the native engine, and on a fake backend that has so few
// operations that almost all are emulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "conformance/cases/one_of_each.hpp"
#include "conformance/cases/plan.hpp"
#include "conformance/cases/scenarios.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

std::uint64_t seed() {
  const char* text = std::getenv("TUTTI_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

RankOptions on_backend(const std::string& backend) {
  RankOptions options;
  options.communicator.config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_BACKEND", backend);
  return options;
}

struct Parameter {
  const char* backend;
  int ranks;
};

void PrintTo(const Parameter& parameter, std::ostream* out) { *out << parameter.backend << parameter.ranks; }

class Threads : public testing::TestWithParam<Parameter> {
 protected:
  // Runs the body on all ranks and fails the test with all errors and failures, and if the ranks checked nothing
  // although there is something to check.
  void run(const std::function<void(const Communicator&, Report&)>& body, std::chrono::seconds deadline,
           bool has_checks = true) {
    RankOptions options = on_backend(GetParam().backend);
    options.deadline = deadline;
    Report report;
    const auto errors = run_ranks(
        GetParam().ranks,
        [&](const Communicator& comm) {
          ASSERT_EQ(comm.backend(), GetParam().backend);
          ASSERT_EQ(comm.size(), GetParam().ranks);
          body(comm, report);
        },
        options);
    EXPECT_EQ(describe(errors), "") << "TUTTI_TEST_SEED=" << seed();
    EXPECT_EQ(report.text(), "") << "TUTTI_TEST_SEED=" << seed();
    EXPECT_EQ(report.checks() > 0, has_checks);
  }
};

TEST_P(Threads, EveryOperationTypeAndReduction) {
  const bool native = std::string_view(GetParam().backend) == "native";
  // With a sanitizer, long messages run with up to four ranks only; more ranks would show nothing new.
  const bool slowed = kDeadlineFactor > 1;
  const auto plan = make_plan({.ranks = GetParam().ranks,
                               .seed = seed(),
                               .coverage = native ? Coverage::full : Coverage::rotated,
                               .large = native ? !slowed || GetParam().ranks < 7 : GetParam().ranks <= 3});
  run([&](const Communicator& comm, Report& report) { run_plan(comm, plan, report); }, std::chrono::seconds(120));
}

TEST_P(Threads, Scenarios) {
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    run([&](const Communicator& comm, Report& report) { run_scenario(scenario, comm, seed(), report); },
        std::chrono::seconds(60), GetParam().ranks > 1 || !scenario.needs_peers);
  }
}

constexpr Parameter kParameters[] = {{"native", 1},
                                     {"native", 2},
                                     {"native", 3},
                                     {"native", 4},
                                     {"native", 7},
                                     {"minimal", 1},
                                     {"minimal", 2},
                                     {"minimal", 3},
                                     {"minimal", 4},
                                     {"minimal", 7},
                                     {"fake_decorator:native", 1},
                                     {"fake_decorator:native", 2},
                                     {"fake_decorator:native", 3},
                                     {"fake_decorator:native", 4},
                                     {"fake_decorator:native", 7},
                                     {"fake_decorator:minimal", 3},
                                     {"horovod:native", 1},
                                     {"horovod:native", 2},
                                     {"horovod:native", 3},
                                     {"horovod:native", 7},
                                     {"horovod:minimal", 3},
                                     {"fake_composite", 1},
                                     {"fake_composite", 2},
                                     {"fake_composite", 3},
                                     {"fake_composite", 4},
                                     {"fake_composite", 7}};
INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::ValuesIn(kParameters), [](const auto& row) {
  std::string name = row.param.backend + std::to_string(row.param.ranks);
  std::ranges::replace(name, ':', '_');
  return name;
});

// The suite on the fake backend tests emulation only if the fake really lacks the operations.
TEST(Emulation, IsWhatTheFakeNeeds) {
  const auto errors = run_ranks(
      2,
      [](const Communicator& comm) {
        for (const OpTraits& row : kOpTraits) {
          const bool has = row.kind == OpKind::allreduce;
          EXPECT_EQ(comm.explain(row.kind, DataType::float32, Reduction::sum).emulated, !has) << row.name;
        }
        EXPECT_TRUE(comm.explain(OpKind::allreduce, DataType::float32, Reduction::average).emulated);
        EXPECT_TRUE(comm.explain(OpKind::allreduce, DataType::bfloat16, Reduction::sum).emulated);
        EXPECT_FALSE(comm.explain(OpKind::allgather, DataType::uint8).emulated);
      },
      on_backend("minimal"));
  EXPECT_EQ(describe(errors), "");
}

TEST(Emulation, IsRefusedInStrictMode) {
  RankOptions options = on_backend("minimal");
  options.communicator.config.set("TUTTI_STRICT", "1");
  const auto errors = run_ranks(
      2,
      [](const Communicator& comm) {
        std::vector<float> data(10, 1.0F);
        comm.allreduce(data);
        EXPECT_EQ(data[9], 2.0F);
        try {
          comm.broadcast(data, 0);
          ADD_FAILURE() << "broadcast was emulated in strict mode";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
          EXPECT_NE(std::string_view(error.what()).find("broadcast"), std::string_view::npos) << error.what();
        }
      },
      options);
  EXPECT_EQ(describe(errors), "");
}

TEST(Native, NothingIsEmulated) {
  RankOptions options = on_backend("native");
  options.communicator.config.set("TUTTI_STRICT", "1");
  const RecordingObserver observer;
  const auto errors = run_ranks(
      2,
      [](const Communicator& comm) {
        ASSERT_EQ(comm.backend(), "native");
        // Every operation runs in strict mode; explain() then asks for the capabilities.
        for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{100'000}}) {
          OneOfEach buffers(comm, count);
          for (const OpTraits& row : kOpTraits) buffers.run(row.kind, {.op = Reduction::average, .prescale = 0.5});
        }
        for (const OpTraits& row : kOpTraits) {
          for (const DataType type : kDataTypes) {
            for (const Reduction reduction : kReductions) {
              if (!is_defined(reduction, type)) continue;
              EXPECT_FALSE(comm.explain(row.kind, type, reduction).emulated)
                  << row.name << " " << name(type) << " " << name(reduction);
            }
          }
        }
      },
      options);
  EXPECT_EQ(describe(errors), "");
  std::set<OpKind> seen;
  for (const RecordingObserver::Issued& issued : observer.issued()) {
    seen.insert(issued.kind);
    EXPECT_FALSE(issued.emulated) << name(issued.kind);
  }
  EXPECT_EQ(seen.size(), kOpKindCount);
  for (const RecordingObserver::MemoryEvent& event : observer.allocations()) EXPECT_NE(event.owner, "emulation");
}

// A NaN of any rank, at any index, is in the result of min and max.
TEST(Native, MinAndMaxKeepNaN) {
  const auto errors = run_ranks(
      3,
      [](const Communicator& comm) {
        for (const Reduction reduction : {Reduction::min, Reduction::max}) {
          std::vector<float> data(67, static_cast<float>(comm.rank()));
          for (std::size_t i = static_cast<std::size_t>(comm.rank()); i < 60; i += 4) data[i] = std::nanf("");
          comm.allreduce(data, {.op = reduction});
          for (std::size_t i = 0; i < data.size(); ++i) {
            const bool expected = i < 60 && i % 4 < 3;
            EXPECT_EQ(std::isnan(data[i]), expected) << name(reduction) << " at " << i << ": " << data[i];
          }
        }
      },
      on_backend("native"));
  EXPECT_EQ(describe(errors), "");
}

}  // namespace
}  // namespace tutti::test
