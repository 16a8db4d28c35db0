#include "sinks/comparison.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "profile_builder.hpp"

namespace tutti::profiling {
namespace {

using test::ProfileBuilder;
using test::statistics;

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "no line with " + part + " in:\n" + text;
}

std::vector<std::uint64_t> around(std::uint64_t value, std::uint64_t spread) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 40; ++i) values.push_back(value - spread + 2 * spread * i / 39);
  return values;
}

ProfileBuilder session(std::uint64_t small_ns, std::uint64_t large_ns, std::uint64_t spread) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_TUTTI", 9);
  const int process = build.process("n1", 1, 0);
  build.row(Kind::operation, source, process, 1, "allreduce", statistics(around(small_ns, spread))).context =
      build.context("allreduce", 8);
  build.row(Kind::operation, source, process, 1, "allreduce", statistics(around(large_ns, spread))).context =
      build.context("allreduce", 1 << 20);
  return build;
}

TEST(Comparison, MarksChangesBeyondTheSpreadOnly) {
  const ProfileBuilder before = session(100'000, 1'000'000, 5000);
  const ProfileBuilder after = session(200'000, 1'020'000, 5000);
  const std::string text = comparison_text(before.profile, after.profile, {.width = 200});
  const std::string small = line_with(text, "allreduce    8 B");
  EXPECT_NE(small.find("  40     40"), std::string::npos) << small;
  EXPECT_NE(small.find("100 us   200 us   2.00       4.00 ms  8.00 ms  SLOWER"), std::string::npos) << small;
  const std::string large = line_with(text, "allreduce  1 MiB");
  EXPECT_NE(large.find("1.02"), std::string::npos) << large;
  EXPECT_EQ(large.find("SLOWER"), std::string::npos) << "2 % is less than the histograms resolve: " << large;
  EXPECT_LT(text.find("8 B"), text.find("1 MiB")) << "the largest change of the total comes first";

  const std::string back = comparison_text(after.profile, before.profile, {.width = 200});
  EXPECT_NE(line_with(back, "allreduce    8 B").find("0.500"), std::string::npos);
  EXPECT_NE(line_with(back, "allreduce    8 B").find("faster"), std::string::npos);

  const std::string same = comparison_text(before.profile, before.profile, {.width = 200});
  EXPECT_EQ(same.find("faster\n"), std::string::npos);
  EXPECT_EQ(same.find("SLOWER\n"), std::string::npos);
}

TEST(Comparison, WideSpreadHidesAChange) {
  const ProfileBuilder before = session(100'000, 1'000'000, 90'000);
  const ProfileBuilder after = session(140'000, 1'000'000, 90'000);
  const std::string small =
      line_with(comparison_text(before.profile, after.profile, {.width = 200}), "allreduce    8 B");
  EXPECT_NE(small.find("1.40"), std::string::npos) << small;
  EXPECT_EQ(small.find("SLOWER"), std::string::npos) << small;
}

TEST(Comparison, FewCallsAreNotMarked) {
  ProfileBuilder before;
  ProfileBuilder after;
  for (ProfileBuilder* build : {&before, &after}) {
    const int source = build->source("BACKEND_MPI", 3);
    const std::uint64_t time = build == &before ? 1000 : 9000;
    build->row(Kind::host, source, build->process("n1", 1, 0), 1, "MPI_Init", statistics({time}));
    build->row(Kind::host, source, 0, 1, "MPI_Bcast", statistics(std::vector<std::uint64_t>(5, time)));
    build->row(Kind::traffic, source, 0, 1, "copy", statistics(std::vector<std::uint64_t>(5, 4096 * time)));
  }
  after.row(Kind::host, 0, 0, 1, "MPI_Barrier", statistics({5}));
  before.row(Kind::host, 0, 0, 1, "MPI_Bad", statistics({}, 4));
  const std::string text = comparison_text(before.profile, after.profile, {.width = 200});
  EXPECT_EQ(line_with(text, "MPI_Init").find("SLOWER"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "MPI_Bcast").find("SLOWER"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "copy").find("more"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "MPI_Barrier").find("new"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "MPI_Bad").find("gone"), std::string::npos) << text;
}

TEST(Comparison, OfNothing) {
  EXPECT_EQ(comparison_text(Profile{}, Profile{}), "");
  ProfileBuilder hostile;
  hostile.row(Kind::operation, 9, 9, 1, "x\x1b[2J", statistics({UINT64_MAX})).context = 77;
  EXPECT_EQ(comparison_text(hostile.profile, Profile{}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tutti::profiling
