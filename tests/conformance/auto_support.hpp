#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/cases/scenarios.hpp"
#include "support/rank_threads.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"
#include "tutti/tutti.hpp"

/// Common to the tests of `auto` on ranks that are threads.
namespace tutti::test {

/// The settings of auto with the fakes as further backends.
inline Config with_pins(const std::string& pins) {
  Config config;
  config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_TUNING", "none").set("TUTTI_PIN", pins);
  return config;
}

/// A table of this machine.
inline TuningTable table_of(std::vector<TuningRow> rows) {
  return {.tutti = std::string(version()),
          .machine = this_tuning_machine(),
          .host = "here",
          .device = "",
          .libraries = {},
          .rows = std::move(rows)};
}

/// Runs a part of the conformance suite on a communicator that routes.
inline void run_on_auto(int ranks, const Config& config, const std::function<void(const Communicator&, Report&)>& body,
                        bool has_checks) {
  Report report;
  RankOptions options{.communicator = {.config = config}, .deadline = std::chrono::seconds(60) * kDeadlineFactor};
  const auto errors = run_ranks(
      ranks,
      [&](const Communicator& comm) {
        ASSERT_EQ(comm.backend(), "auto");
        body(comm, report);
      },
      options);
  EXPECT_EQ(describe(errors), "");
  EXPECT_EQ(report.text(), "");
  EXPECT_EQ(report.checks() > 0, has_checks);
}

}  // namespace tutti::test
