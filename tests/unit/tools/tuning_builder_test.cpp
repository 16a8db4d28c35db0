// Results of a sweep become ranges: split exactly where the fastest backend changes, and not by noise.
#include "tuning/tuning_builder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "support/refusals.hpp"
#include "tuning/close_cells.hpp"

namespace tutti::tools {
namespace {

using Times = std::map<std::string, std::function<double(std::uint64_t)>>;

SweepResults results_of(const Times& backends, const std::vector<std::uint64_t>& sizes,
                        const std::vector<double>& run_factors = {1.0}, OpKind op = OpKind::allreduce) {
  SweepResults results;
  results.head = {.tutti = "1.2.3", .begun = {}, .hostname = "node1", .cpu = "Abacus", .cores = 4, .kernels = {}};
  for (const auto& [backend, time] : backends) {
    results.backends.push_back({.backend = backend, .version = "1.0"});
    for (const std::uint64_t bytes : sizes) {
      SweepRow row{.cell = {.op = op, .bytes = bytes}, .backend = backend, .ranks = 2, .bytes = bytes};
      row.time_us_p50 = time(bytes);
      for (const double factor : run_factors) row.run_medians_us.push_back(time(bytes) * factor);
      results.rows.push_back(row);
    }
  }
  return results;
}

double bytes_of(std::uint64_t bytes) { return static_cast<double>(bytes); }

TEST(TuningBuilder, SplitsWhereTheFastestChanges) {
  // The one has latency 1 and 1 byte per us beyond, the other latency 1000 and no cost per byte.
  const SweepResults results =
      results_of({{"near", [](auto bytes) { return 1 + bytes_of(bytes); }}, {"far", [](auto) { return 1000.0; }}},
                 {64, 256, 4096, 16384});
  const TuningTable table = build_tuning({&results, 1});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].from, 0u);
  EXPECT_EQ(table.rows[0].to, 1024u) << "the geometric mean of 256 and 4096";
  EXPECT_EQ(table.rows[1].from, 1024u);
  EXPECT_EQ(table.rows[1].to, kNoLimit);
  EXPECT_EQ(table.rows[0].backends[0].spec, "near");
  EXPECT_EQ(table.rows[1].backends[0].spec, "far");
  EXPECT_EQ(table.rows[1].backends[1].spec, "near");
  EXPECT_EQ(table.rows[0].types, TypeClass::floating);
  EXPECT_EQ(table.rows[0].ranks_from, 2);
  EXPECT_EQ(table.rows[0].backends[0].times, (std::vector<TunedTime>{{64, 65}, {256, 257}}));
  EXPECT_EQ(table.machine, (TuningMachine{"Abacus", 4}));
  EXPECT_EQ(table.tutti, "1.2.3");
  EXPECT_EQ(parse_tuning(tuning_text(results)).rows.size(), 2u);
}

TEST(TuningBuilder, NoiseSplitsNothing) {
  // The second one is 4 % faster in the middle, but the runs of each differ by 6 %.
  const Times times = {{"a", [](auto) { return 100.0; }},
                       {"b", [](auto bytes) { return bytes == 2048 ? 96.0 : 120.0; }}};
  const std::vector<std::uint64_t> sizes = {1024, 2048, 4096};
  const SweepResults noisy = results_of(times, sizes, {0.97, 1.0, 1.03});
  const TuningTable table = build_tuning({&noisy, 1});
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].backends[0].spec, "a");
  const SweepResults quiet = results_of(times, sizes, {0.999, 1.0, 1.001});
  EXPECT_EQ(build_tuning({&quiet, 1}).rows.size(), 3u);
}

TEST(CloseCells, AreThoseInWhichTheRunsDoNotTellTheFastest) {
  const Times times = {{"a", [](auto) { return 100.0; }},
                       {"b", [](auto bytes) { return bytes == 2048 ? 130.0 : 104.0; }},
                       {"c", [](auto) { return 200.0; }}};
  const std::vector<std::uint64_t> sizes = {1024, 2048};
  const auto noisy = close_cells(results_of(times, sizes, {0.97, 1.0, 1.03}));
  ASSERT_EQ(noisy.size(), 2u);
  ASSERT_EQ(noisy.at("a").size(), 1u);
  EXPECT_EQ(noisy.at("a")[0].bytes, 1024u);
  EXPECT_EQ(noisy.at("b")[0].bytes, 1024u);
  EXPECT_TRUE(close_cells(results_of(times, sizes, {0.999, 1.0, 1.001})).empty());
  EXPECT_TRUE(close_cells(results_of(times, sizes)).empty()) << "one run tells nothing about the noise";
}

TEST(TuningBuilder, MarginAndCertaintyComeFromTheRuns) {
  const Times times = {{"a", [](auto) { return 100.0; }}, {"b", [](auto) { return 150.0; }}};
  const SweepResults clear = results_of(times, {1024}, {0.9, 1.0, 1.1});
  const TuningRow sure = build_tuning({&clear, 1}).rows.at(0);
  EXPECT_NEAR(sure.margin, 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(sure.certainty, 1);
  const SweepResults close = results_of(times, {1024}, {0.7, 1.0, 1.3});
  const TuningRow unsure = build_tuning({&close, 1}).rows.at(0);
  EXPECT_GT(unsure.certainty, 0.5);
  EXPECT_LT(unsure.certainty, 1);
}

TEST(TuningBuilder, FailedCellsDoNotWin) {
  SweepResults results =
      results_of({{"a", [](auto) { return 100.0; }}, {"b", [](auto) { return 10.0; }}}, {1024, 4096});
  for (SweepRow& row : results.rows) {
    if (row.backend == "b" && row.bytes == 4096) row.status = "crashed";
  }
  const TuningTable table = build_tuning({&results, 1});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].backends[0].spec, "b");
  EXPECT_EQ(table.rows[1].backends.size(), 1u);
  EXPECT_EQ(table.rows[1].backends[0].spec, "a");
}

TEST(TuningBuilder, KeepsOperationsAndMemoryApart) {
  const Times one = {{"a", [](auto) { return 1.0; }}};
  std::vector<SweepResults> several = {results_of(one, {1024}), results_of(one, {1024}, {1.0}, OpKind::allgather)};
  several[1].device = "sycl:0";
  const TuningTable table = build_tuning(several);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_FALSE(table.rows[0].on_device);
  EXPECT_TRUE(table.rows[1].on_device);
  EXPECT_EQ(table.rows[1].types, TypeClass::any);
  EXPECT_EQ(table.device, "sycl:0");
  EXPECT_EQ(table.libraries.size(), 1u);
}

/// allreduce of `whole_us` on "a", and its two parts; "b" has an allreduce only.
SweepResults with_parts(double whole_us, double scatter_us, double gather_us, double other_us) {
  SweepResults results = results_of({{"a", [=](auto) { return whole_us; }}, {"b", [=](auto) { return other_us; }}},
                                    {1024, 4096}, {0.999, 1.0, 1.001});
  for (const auto& [op, us] :
       {std::pair(OpKind::reduce_scatter, scatter_us), std::pair(OpKind::allgather, gather_us)}) {
    const SweepResults part =
        results_of({{"a", [us = us](auto) { return us; }}}, {1024, 4096}, {0.999, 1.0, 1.001}, op);
    results.rows.insert(results.rows.end(), part.rows.begin(), part.rows.end());
  }
  results.ranks = 2;
  return results;
}

TEST(TuningBuilder, CompositionsPromiseWhatTheirPartsTake) {
  const std::vector<ComposedCell> promising = promising_compositions(with_parts(200, 60, 70, 180));
  ASSERT_EQ(promising.size(), 2u);
  EXPECT_EQ(promising[0].cell.op, OpKind::allreduce);
  EXPECT_EQ(promising[0].backend, "a");
  EXPECT_EQ(promising[0].composition, Composition::reduce_scatter_allgather);
  EXPECT_EQ(promising[0].bytes, 1024u);
  EXPECT_DOUBLE_EQ(promising[0].time_us, 130);
  EXPECT_TRUE(promising_compositions(with_parts(200, 60, 70, 140)).empty()) << "10 % of the fastest backend's time";
  EXPECT_TRUE(promising_compositions(with_parts(140, 60, 70, 200)).empty());
}

TEST(TuningBuilder, TakesACompositionThatProvedFaster) {
  const SweepResults results = with_parts(200, 60, 70, 180);
  std::vector<ComposedCell> composed = promising_compositions(results);
  composed[0].time_us = 175;  // the caches helped the parts
  composed[1].time_us = 120;
  composed[1].run_medians_us = {119, 120, 121};
  const TuningTable table = build_tuning({&results, 1}, composed);
  ASSERT_EQ(table.rows.size(), 4u) << "two of allreduce";
  EXPECT_EQ(table.rows[0].backends[0].spec, "b");
  EXPECT_EQ(table.rows[0].backends[0].composition, Composition::none);
  EXPECT_EQ(table.rows[0].backends.size(), 2u);
  EXPECT_EQ(table.rows[1].from, 2048u);
  EXPECT_EQ(table.rows[1].backends[0], (TunedBackend{"a", {{4096, 120}}, Composition::reduce_scatter_allgather}));
  EXPECT_EQ(table.rows[1].backends[1].spec, "b");
  EXPECT_NEAR(table.rows[1].margin, 0.5, 1e-9);
  EXPECT_EQ(parse_tuning(to_text(table)).rows[1].backends, table.rows[1].backends);
  composed[1].run_medians_us = {119, 120, 190};
  EXPECT_EQ(build_tuning({&results, 1}, composed).rows.size(), 3u) << "a run was slower than one of b";
  EXPECT_EQ(build_tuning({&results, 1}).rows.size(), 3u) << "nothing was measured: the operations themselves";
}

TEST(TuningBuilder, RefusesWhatItCannotLearnFrom) {
  const Times one = {{"a", [](auto) { return 1.0; }}};
  const auto refusal = [](std::vector<SweepResults> results) {
    return test::error_of([&] { (void)build_tuning(results); }, ErrorCode::config);
  };
  EXPECT_NE(refusal({results_of({}, {})}).find("no successful cell"), std::string::npos);
  SweepResults other = results_of(one, {1024});
  other.head.cpu = "Slide rule";
  EXPECT_NE(refusal({results_of(one, {1024}), other}).find("Slide rule"), std::string::npos);
  other.head = {};
  EXPECT_NE(refusal({other}).find("do not name the machine"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tools
