// The conformance suite on ranks that are threads: on the native engine, and on a module with so few operations that
// nearly everything is emulated.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "conformance/cases/plan.hpp"
#include "conformance/cases/scenarios.hpp"
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
  // Runs the body on all ranks and fails with everything that was wrong.
  void run(const std::function<void(const Communicator&, Report&)>& body, std::chrono::seconds deadline) {
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
    EXPECT_GT(report.checks(), 0u);
  }
};

TEST_P(Threads, EveryOperationTypeAndReduction) {
  const bool native = std::string_view(GetParam().backend) == "native";
  // A sanitizer has seen everything there is to see of long messages with four ranks.
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
    run(
        [&](const Communicator& comm, Report& report) {
          run_scenario(scenario, comm, seed(), report);
          report.count_check();
        },
        std::chrono::seconds(60));
  }
}

constexpr Parameter kParameters[] = {{"native", 1},  {"native", 2},  {"native", 3},  {"native", 4},  {"native", 7},
                                     {"minimal", 1}, {"minimal", 2}, {"minimal", 3}, {"minimal", 4}, {"minimal", 7}};
INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::ValuesIn(kParameters),
                         [](const auto& row) { return row.param.backend + std::to_string(row.param.ranks); });

// What the suite proves on the fake is emulation only if the fake has nothing of it.
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
  const auto errors = run_ranks(
      2,
      [](const Communicator& comm) {
        ASSERT_EQ(comm.backend(), "native");
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
      on_backend("native"));
  EXPECT_EQ(describe(errors), "");
}

// A NaN of any rank reaches the result of min and max, wherever it stands.
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
