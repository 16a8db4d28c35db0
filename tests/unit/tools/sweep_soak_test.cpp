#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "sweep/soak.hpp"

namespace tutti::tools {
namespace {

std::vector<double> first_numbers(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}

std::vector<ProcessMemory> resident(const std::vector<double>& mebibytes) {
  std::vector<ProcessMemory> rounds;
  for (const double amount : mebibytes) {
    const auto bytes = static_cast<std::uint64_t>(amount * (1 << 20));
    rounds.push_back({bytes, bytes});
  }
  return rounds;
}

TEST(Soak, GrowthAfterTheFirstRoundsIsALeakIfItGoesOn) {
  EXPECT_EQ(growth_of(resident({1, 2, 3})).rounds, 0U) << "too few rounds";
  EXPECT_FALSE(growth_of(resident({10, 50, 51, 51.1, 51.2, 51.2})).is_leak)
      << "libraries keep what they allocate first";
  EXPECT_FALSE(growth_of(resident({10, 10, 10, 40, 40, 40, 40, 40})).is_leak) << "grew once";
  const MemoryGrowth leak = growth_of(resident({10, 10, 10, 12, 14, 16, 18, 20}));
  EXPECT_TRUE(leak.is_leak);
  EXPECT_EQ(leak.rounds, 5U);
  EXPECT_EQ(leak.resident, std::uint64_t{10} << 20);
  EXPECT_EQ(leak.peak, std::uint64_t{10} << 20);
  EXPECT_FALSE(growth_of(resident({20, 20, 20, 15, 10, 5})).is_leak);
}

TEST(Soak, MemoryOfAProcessIsThatOfTheKernel) {
  RankMemory memory;
  memory.joined(3, getpid());
  constexpr std::size_t kStep = std::size_t{4} << 20;
  std::vector<std::unique_ptr<char[]>> held;
  for (int round = 0; round < 6; ++round) {
    held.push_back(std::make_unique<char[]>(kStep));
    std::memset(held.back().get(), round + 1, kStep);
    memory.sample();
  }
  const auto growth = memory.growth();
  ASSERT_TRUE(growth.contains(3));
  EXPECT_TRUE(growth.at(3).is_leak);
  EXPECT_NEAR(static_cast<double>(growth.at(3).resident), 3.0 * kStep, kStep / 2.0);
  EXPECT_FALSE(memory_of(-1));
}

TEST(Soak, DriftIsMoreThanTheNoise) {
  EXPECT_FALSE(drift_of(first_numbers(8))) << "too few rounds";
  const auto rising = drift_of(std::vector<double>{100, 101, 99, 105, 110, 112, 120, 121, 119});
  ASSERT_TRUE(rising);
  EXPECT_TRUE(rising->is_beyond_noise);
  EXPECT_NEAR(rising->relative(), 0.2, 1e-9);
  EXPECT_FALSE(drift_of(std::vector<double>{100, 130, 90, 110, 95, 120, 112, 121, 95})->is_beyond_noise);
  EXPECT_FALSE(drift_of(std::vector<double>{100, 100, 100, 101, 101, 101, 102, 102, 102})->is_beyond_noise) << "2 %";
}

TEST(Soak, TheReportNamesTheRanksThatGrow) {
  SoakReport report;
  report.add("native", 2, {{0, {.resident = 4096, .peak = 0, .rounds = 9}}, {1, {8 << 20, 9 << 20, 9, true}}});
  report.add("native", 2, {{1, {.resident = 0, .peak = 0, .rounds = 9}}});
  EXPECT_TRUE(report.has_leak());
  SweepResults results;
  results.rows = {{.cell = {OpKind::allreduce, 1 << 20}, .backend = "native", .ranks = 2, .bytes = 1 << 20}};
  results.rows[0].run_medians_us = {100, 101, 99, 105, 110, 112, 120, 121, 119};
  const std::string text = report.text(results, 75);
  EXPECT_NE(text.find("soak of 1:15\n"), std::string::npos) << text;
  EXPECT_NE(text.find("drift: native, allreduce (sum), 2 ranks at 1 MiB: 100 us in the first third of 9 rounds, 120 us "
                      "in the last (+20.0 %)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("memory of native, rank 0 of 2: steady, 4.00 KiB resident"), std::string::npos) << text;
  EXPECT_NE(
      text.find("memory of native, rank 1 of 2: grew by 8.00 MiB resident, 9.00 MiB peak in 9 rounds; it may leak"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace tutti::tools
