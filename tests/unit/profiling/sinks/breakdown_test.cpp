#include "sinks/breakdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "profile_builder.hpp"
#include "session/owner_names.hpp"
#include "sinks/split_keys.hpp"

namespace tutti::profiling {
namespace {

using test::ProfileBuilder;
using test::statistics;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Runs of blanks as one: the tests of numbers do not depend on the widths of columns.
std::string squeezed(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' || (!result.empty() && result.back() != ' ' && result.back() != '\n')) result += c;
  }
  return result;
}

/// Two ranks, allreduce of 8 B and 64 KiB on native, broadcast of 1 MiB on ccl with calls, device work and memory.
ProfileBuilder example() {
  ProfileBuilder build;
  const int tutti = build.source("BACKEND_TUTTI", 9);
  const int ze = build.source("BACKEND_ZE", 1);
  const int small = build.context("allreduce", 8);
  const int large = build.context("allreduce", 65536, "native", "gradients");
  const int broadcast = build.context("broadcast", 1 << 20, "ccl");
  const int gpu = build.device(7, 0);
  for (int rank = 0; rank < 2; ++rank) {
    const int process = build.process("n1", 10 + static_cast<std::uint32_t>(rank), rank);
    build.row(Kind::operation, tutti, process, 1, "allreduce", statistics({1000, 3000})).context = small;
    TallyRow& row = build.row(Kind::operation, tutti, process, 1, "allreduce", statistics({50'000}, 1));
    row.context = large;
    row.region = "step";
    build.row(Kind::operation, tutti, process, 1, "broadcast", statistics({10'000})).context = broadcast;
    build.row(Kind::host, ze, process, 1, "zeCommandListAppendMemoryCopy", statistics({300, 200})).context = broadcast;
    TallyRow& device = build.row(Kind::device, ze, process, 1, "copy", statistics({4000}));
    device.context = broadcast;
    device.device = gpu;
    build.row(Kind::traffic, ze, process, 1, "copy(M2D)", statistics({1 << 20})).context = broadcast;
    build.row(Kind::allocation, tutti, process, 1, "emulation", statistics({2048, 2048})).context = broadcast;
    build.row(Kind::release, tutti, process, 1, "emulation", statistics({2048})).context = broadcast;
  }
  build.row(Kind::host, ze, 0, 1, "zeInit", statistics({700}));
  return build;
}

TEST(Breakdown, ParsesItsFields) {
  EXPECT_EQ(parse_split("op"), SplitBy::operation);
  EXPECT_EQ(parse_split("caller"), SplitBy::caller);
  EXPECT_EQ(parse_split("operation"), std::nullopt);
  EXPECT_EQ(parse_split(""), std::nullopt);
}

TEST(Breakdown, GoldenTableByOperationAndSize) {
  const std::string text = breakdown_text(example().profile, {}, {.width = 140});
  // allreduce has more time than broadcast; sizes ascend; calls outside of operations come last.
  const std::string expected =
      "Operations by op, size\n"
      "\n"
      "  op                size  calls     time  average  host calls  host time  device time   traffic  allocated  "
      "errors\n"
      "  --------------  ------  -----  -------  -------  ----------  ---------  -----------  --------  ---------  "
      "------\n"
      "  allreduce          8 B      4  8.00 us  2.00 us\n"
      "  allreduce       64 KiB      4   100 us  50.0 us                                                               "
      " 2\n"
      "  broadcast        1 MiB      2  20.0 us  10.0 us           4    1.00 us      8.00 us  2.00 MiB   8.00 KiB\n"
      "  (no operation)       -                                    1     700 ns\n"
      "  total                      10   128 us  16.0 us           5    1.70 us      8.00 us  2.00 MiB   8.00 KiB      "
      " 2\n"
      "\n";
  EXPECT_EQ(text.substr(0, expected.size()), expected) << text;
}

TEST(Breakdown, EveryFieldSplitsToTheSameTotals) {
  const ProfileBuilder build = example();
  for (const SplitBy field : {SplitBy::operation, SplitBy::size, SplitBy::backend, SplitBy::rank, SplitBy::device,
                              SplitBy::caller, SplitBy::region}) {
    const auto lines = lines_of(breakdown_text(build.profile, {.by = {field}, .percentiles = false}, {.width = 200}));
    const auto total =
        std::ranges::find_if(lines, [](const std::string& line) { return line.find("total ") != std::string::npos; });
    ASSERT_NE(total, lines.end()) << SplitKeys::title(field);
    EXPECT_NE(total->find("128 us"), std::string::npos) << *total;
    EXPECT_NE(total->find("8.00 KiB"), std::string::npos) << *total;
  }
  const std::string by_rank = breakdown_text(
      build.profile, {.by = {SplitBy::rank, SplitBy::caller, SplitBy::region}, .percentiles = false}, {.width = 200});
  EXPECT_NE(by_rank.find("1  gradients  step"), std::string::npos) << by_rank;
  const std::string by_device = breakdown_text(build.profile, {.by = {SplitBy::device}, .percentiles = false});
  EXPECT_NE(by_device.find("Test GPU"), std::string::npos) << by_device;
}

TEST(Breakdown, MemoryInUseOnADeviceIsNoAllocation) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_CUDA", 1);
  const int process = build.process("n1", 1, 0);
  build.row(Kind::allocation, source, process, 1, "device memory", statistics({4096}));
  build.row(Kind::allocation, source, process, 1, std::string(kUsedOnDevice), statistics({1 << 20}));
  const std::string text = breakdown_text(build.profile, {}, {.width = 140});
  EXPECT_NE(text.find("4.00 KiB"), std::string::npos) << text;
  EXPECT_EQ(text.find("MiB"), std::string::npos) << text;
}

TEST(Breakdown, Percentiles) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_TUTTI", 9);
  const int process = build.process("n1", 1, 0);
  std::vector<std::uint64_t> values(100, 2'000'000);
  std::fill(values.begin(), values.begin() + 60, 1'000'000);
  values.back() = 50'000'000;
  build.row(Kind::operation, source, process, 1, "barrier", statistics(values)).context = build.context("barrier", 0);
  const auto lines =
      lines_of(breakdown_text(build.profile, {.by = {SplitBy::operation}, .percentiles = true}, {.width = 120}));
  EXPECT_NE(squeezed(lines.at(2)).find("average p50 p90 p99"), std::string::npos) << lines.at(2);
  // Percentiles come from a histogram, within 1/8: 917504 to 1048576, ...
  std::istringstream cells(lines.at(4));
  std::string op, calls;
  double time = 0, average = 0, p50 = 0, p90 = 0, p99 = 0;
  std::string unit;
  cells >> op >> calls >> time >> unit >> average >> unit >> p50 >> unit;
  if (unit == "us") p50 /= 1000;
  cells >> p90 >> unit >> p99 >> unit;
  EXPECT_NEAR(p50, 1, 0.125);
  EXPECT_NEAR(p90, 2, 0.25);
  EXPECT_NEAR(p99, 50, 6.25);
}

TEST(Breakdown, ManySizesArePowersOfTwo) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_TUTTI", 9);
  const int process = build.process("n1", 1, 0);
  for (std::uint64_t i = 0; i < 100; ++i) {
    build.row(Kind::operation, source, process, 1, "allgather", statistics({1000})).context =
        build.context("allgather", 65536 + i * 600);
  }
  build.row(Kind::operation, source, process, 1, "allgather", statistics({1000})).context =
      build.context("allgather", 24);
  build.row(Kind::operation, source, process, 1, "allgather", statistics({1000})).context =
      build.context("allgather", 0);
  build.row(Kind::operation, source, process, 1, "allgather", statistics({1000})).context =
      build.context("allgather", UINT64_MAX);
  const auto lines = lines_of(breakdown_text(build.profile, {.by = {SplitBy::size}, .percentiles = false}));
  EXPECT_NE(lines.at(4).find(" 0 B "), std::string::npos) << lines.at(4);
  EXPECT_NE(lines.at(5).find(" 24 B "), std::string::npos) << "a class of one size has the size's name";
  EXPECT_NE(lines.at(6).find("64 KiB to 128 KiB    100 "), std::string::npos) << lines.at(6);
  EXPECT_NE(lines.at(7).find(" 1 "), std::string::npos);
}

TEST(Breakdown, NarrowTerminalsGetTheTableInParts) {
  const std::string text = breakdown_text(example().profile, {.percentiles = true}, {.width = 70});
  std::size_t titles = 0;
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(line.size(), 70U) << line;
    titles += line.find("  op  ") == 0 ? 1 : 0;
  }
  EXPECT_GE(titles, 2U);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(breakdown_text(example().profile, {}, {.width = 70, .colour = true}).find("\x1b[1m"), std::string::npos);
}

TEST(Breakdown, DamagedAndHostileProfiles) {
  EXPECT_EQ(breakdown_text(Profile{}, {}), "");
  ProfileBuilder build;
  TallyRow& row = build.row(Kind::operation, 9, 9, 1, "x\x1b[2J", statistics({1}));
  row.context = 1000;
  row.device = 1000;
  row.region = "a\nb";
  const std::string text =
      breakdown_text(build.profile, {.by = {SplitBy::operation, SplitBy::size, SplitBy::backend, SplitBy::rank,
                                            SplitBy::device, SplitBy::caller, SplitBy::region}});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("a?b"), std::string::npos) << text;
  EXPECT_NE(breakdown_text(build.profile, {.by = {}}), "");
}

TEST(Devices, OfOneNameAreNumbered) {
  ProfileBuilder build;
  build.device(70, 0);
  build.device(70, 5);
  build.device(70, 9);
  build.device(80, 4);
  EXPECT_EQ(device_names(build.profile),
            (std::vector<std::string>{"Test GPU #0", "Test GPU #0.0", "Test GPU #0.1", "Test GPU #1.0"}));
  ProfileBuilder single;
  single.device(70, 0);
  EXPECT_EQ(device_names(single.profile), (std::vector<std::string>{"Test GPU"}));
}

TEST(Memory, ByOwnerByOperationAndResident) {
  ProfileBuilder build = example();
  const auto memory = [&](const char* owner, int process, int device, std::uint64_t allocated, std::uint64_t released,
                          std::uint64_t peak) {
    MemoryRow row;
    row.owner = owner;
    row.process = process;
    row.device = device;
    row.allocations = 2;
    row.allocated_bytes = allocated;
    row.releases = 1;
    row.released_bytes = released;
    row.peak_bytes = peak;
    build.profile.memory.push_back(row);
  };
  memory("native", 0, -1, 8192, 8192, 4096);
  // A process that frees more than it allocated, memory of before the session, must not hide the leak of the other.
  memory("native", 1, -1, 8192, 4096, 8192);
  memory("native", 0, -1, 0, 100'000, 0);
  memory("emulation", 0, 0, 1 << 20, 0, 1 << 20);
  build.profile.processes[0].resident_peak = 100 << 20;
  const std::string text = squeezed(memory_text(build.profile, {.width = 120}));
  EXPECT_NE(text.find("emulation Test GPU 2 1.00 MiB 1 1.00 MiB 1.00 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("native host 6 16.0 KiB 3 110 KiB 8.00 KiB 4.00 KiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("broadcast 1 MiB emulation 4 8.00 KiB 2 4.00 KiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("0 n1 100 MiB\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("incomplete"), std::string::npos);
  build.profile.processes[1].ended = false;
  EXPECT_NE(memory_text(build.profile).find("1 of 2 processes had not ended in order"), std::string::npos);
}

// The rank that has seen the most stands for all: each tells the same device's memory.
TEST(Memory, InUseOnADeviceIsNotAddedUp) {
  ProfileBuilder build;
  build.device(70, 0);
  for (const std::uint64_t bytes : {1 << 20, 3 << 20, 2 << 20}) {
    MemoryRow row;
    row.owner = kUsedOnDevice;
    row.process = build.process("n1", 1, 0);
    row.device = 0;
    row.allocations = 1;
    row.allocated_bytes = row.peak_bytes = bytes;
    build.profile.memory.push_back(row);
  }
  const std::string text = squeezed(memory_text(build.profile, {.width = 120}));
  EXPECT_NE(text.find("in use on the device Test GPU 1 3.00 MiB 3.00 MiB 3.00 MiB\n"), std::string::npos) << text;
}

TEST(Memory, OfManyRanksShowsTheHighestPeaks) {
  ProfileBuilder build;
  for (int rank = 0; rank < 100; ++rank) {
    const int process = build.process("n1", 1, rank);
    build.profile.processes[static_cast<std::size_t>(process)].resident_peak =
        static_cast<std::uint64_t>(1 + rank * 37 % 100) << 20;
  }
  const std::string text = squeezed(memory_text(build.profile));
  EXPECT_NE(text.find("100 MiB"), std::string::npos) << text;
  EXPECT_EQ(text.find(" 84.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("84 more processes had a lower peak."), std::string::npos) << text;
}

TEST(Cost, RecordsTimesMeasuredCost) {
  ProfileBuilder build;
  for (int rank = 0; rank < 2; ++rank) {
    ProcessRow& row = build.profile.processes[static_cast<std::size_t>(build.process("n1", 1, rank))];
    row.begin_ns = 1000;
    row.end_ns = 1'000'001'000;
    row.records = 100'000;
    row.cost_ns = 50;
    row.file_bytes = 1 << 20;
  }
  build.profile.processes[1].dropped = 7;
  build.profile.processes[1].ended = false;
  const std::string text = squeezed(cost_text(build.profile, {.width = 120}));
  EXPECT_NE(text.find("0 100000 50 ns 5.00 ms 0.500 % 1.00 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 100000 50 ns 5.00 ms 0.500 % 1.00 MiB 7 end not seen\n"), std::string::npos) << text;
  EXPECT_NE(text.find("all 200000 10.0 ms 0.500 % 2.00 MiB 7\n"), std::string::npos) << text;
  EXPECT_EQ(cost_text(Profile{}), "");
}

TEST(Cost, OfManyProcessesShowsTheWorst) {
  ProfileBuilder build;
  for (int rank = 0; rank < 100; ++rank) build.process("n1", 1, rank);
  build.profile.processes[77].dropped = 3;
  const std::string text = cost_text(build.profile);
  EXPECT_NE(text.find("77"), std::string::npos) << text;
  EXPECT_NE(text.find("92 more processes"), std::string::npos) << text;
}

TEST(Csv, QuotesAndLeavesUnknownFieldsEmpty) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_MPI", 3);
  const int process = build.process("n1", 10, 0);
  TallyRow& row = build.row(Kind::host, source, process, 20, "say \"hi\", you", statistics({4, 6}, 1));
  row.context = build.context("allreduce", 64, "mpi", "a\nb");
  build.row(Kind::traffic, 99, 99, 1, "x", statistics({}, 1));
  EXPECT_EQ(
      rows_csv(build.profile),
      "kind,source,level,host,pid,rank,thread,device_name,device,sub_device,operation,type,backend,label,size,"
      "ranks,region,name,calls,errors,total,min,max,message_bytes,p50,p90,p99\n"
      "host,BACKEND_MPI,3,n1,10,0,20,,0,0,allreduce,float32,mpi,\"a\nb\",64,2,,\"say \"\"hi\"\", you\",3,1,10,4,6,0,"
      "6,6,6\n"
      "traffic,,0,,0,,1,,0,0,,,,,,0,,x,1,1,0,,,0,0,0,0\n");
}

}  // namespace
}  // namespace tutti::profiling
