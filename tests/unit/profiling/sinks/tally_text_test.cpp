#include "sinks/tally/tally_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "profile_builder.hpp"
#include "sinks/kernel_name.hpp"
#include "tally_parser.hpp"
#include "thapi_header_lines.hpp"

namespace tutti::profiling {
namespace {

using test::ProfileBuilder;
using test::statistics;

TEST(TallyText, GoldenTablesOfHostDeviceAndTraffic) {
  ProfileBuilder build;
  const int ze = build.source("BACKEND_ZE", 1);
  const int mpi = build.source("BACKEND_MPI", 3);
  const int first = build.process("n1", 10, 0);
  const int second = build.process("n1", 11, 1);
  build.row(Kind::host, ze, first, 10, "zeEventHostSynchronize", statistics({1'000'000'000, 500'000'000}));
  build.row(Kind::host, ze, second, 11, "zeEventHostSynchronize", statistics({1'500'000'000}));
  build.row(Kind::host, ze, second, 12, "zeMemFree", statistics({353, 647}));
  build.row(Kind::host, mpi, first, 10, "MPI_Init", statistics({111'000'000'000}));
  build.row(Kind::host, mpi, second, 11, "MPI_Send", statistics({889}, 1));
  build.row(Kind::host, mpi, second, 11, "MPI_Bad", statistics({}, 2));
  build.row(Kind::device, ze, first, 10, "_ZTS4Axpy", statistics({2000, 4000})).device = build.device(7, 8);
  build.row(Kind::device, ze, second, 11, "zeCommandListAppendMemoryCopy(H2D)", statistics({2000})).device =
      build.device(7, 9);
  build.row(Kind::traffic, ze, first, 10, "zeCommandListAppendMemoryCopy(H2D)", statistics({8, 1000, 7'050'000'000}));

  // Computed by hand from the rules. Level 3 comes before level 1; every line of a table ends in a blank.
  const std::string expected =
      "BACKEND_MPI | 1 Hostnames | 2 Processes | 2 Threads | \n"
      "\n"
      "    Name |    Time | Time(%) | Calls |  Average |     Min |     Max | Error | \n"
      "MPI_Init | 1.85min | 100.00% |     1 |  1.85min | 1.85min | 1.85min |     0 | \n"
      "MPI_Send |   889ns |   0.00% |     2 | 889.00ns |   889ns |   889ns |     1 | \n"
      " MPI_Bad |         |         |     2 |          |         |         |     2 | \n"
      "   Total | 1.85min | 100.00% |     5 |                                    3 | \n"
      "\n"
      "BACKEND_ZE | 1 Hostnames | 2 Processes | 3 Threads | \n"
      "\n"
      "                  Name |   Time | Time(%) | Calls |  Average |      Min |   Max |         \n"
      "zeEventHostSynchronize |  3.00s | 100.00% |     3 |    1.00s | 500.00ms | 1.50s |         \n"
      "             zeMemFree | 1.00us |   0.00% |     2 | 500.00ns |    353ns | 647ns |         \n"
      "                 Total |  3.00s | 100.00% |     5 |                                       \n"
      "\n"
      "Device profiling | 1 Hostnames | 2 Processes | 2 Threads | 2 Devices | 2 Subdevices | \n"
      "\n"
      "                              Name |   Time | Time(%) | Calls | Average |    Min |    Max |         \n"
      "                              Axpy | 6.00us |  75.00% |     2 |  3.00us | 2.00us | 4.00us |         \n"
      "zeCommandListAppendMemoryCopy(H2D) | 2.00us |  25.00% |     1 |  2.00us | 2.00us | 2.00us |         \n"
      "                             Total | 8.00us | 100.00% |     3 |                                     \n"
      "\n"
      "Explicit memory traffic (BACKEND_ZE) | 1 Hostnames | 1 Processes | 1 Threads | \n"
      "\n"
      "                              Name |   Byte | Byte(%) | Calls | Average | Min |    Max |         \n"
      "zeCommandListAppendMemoryCopy(H2D) | 7.05GB | 100.00% |     3 |  2.35GB |  8B | 7.05GB |         \n"
      "                             Total | 7.05GB | 100.00% |     3 |                                  \n"
      "\n";
  EXPECT_EQ(tally_text(build.profile), expected);
}

TEST(TallyText, UnitsBeginWhereTheirValueReachesOne) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_MPI", 3);
  const int process = build.process("n1", 1, 0);
  const std::vector<std::pair<std::uint64_t, std::string>> times = {{999, "999ns"},
                                                                    {1000, "1.00us"},
                                                                    {999'999, "1000.00us"},
                                                                    {1'000'000, "1.00ms"},
                                                                    {999'990'000, "999.99ms"},
                                                                    {1'000'000'000, "1.00s"},
                                                                    {59'990'000'000, "59.99s"},
                                                                    {60'000'000'000, "1.00min"},
                                                                    {3'540'000'000'000, "59.00min"},
                                                                    {3'600'000'000'000, "1.00h"},
                                                                    {7'200'000'000'000, "2.00h"}};
  const std::vector<std::pair<std::uint64_t, std::string>> sizes = {{999, "999B"},
                                                                    {1000, "1.00kB"},
                                                                    {595'590'000, "595.59MB"},
                                                                    {1'000'000'000, "1.00GB"},
                                                                    {1'240'000'000'000, "1.24TB"},
                                                                    {2'000'000'000'000'000, "2.00PB"}};
  for (const auto& [value, cell] : times) build.row(Kind::host, source, process, 1, cell, statistics({value}));
  for (const auto& [value, cell] : sizes) build.row(Kind::traffic, source, process, 1, cell, statistics({value}));
  std::istringstream lines(tally_text(build.profile));
  std::size_t seen = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = test::split_cells(line);
    if (cells.size() < 7 || cells[0] == "Name") continue;
    EXPECT_EQ(cells[5], cells[0]);
    ++seen;
  }
  EXPECT_EQ(seen, times.size() + sizes.size());
}

TEST(TallyText, LongNamesAreCutInTheMiddle) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_MPI", 3);
  build.row(Kind::host, source, build.process("n1", 1, 0), 1, "abcdefghijklmnopqrst", statistics({1}));
  const auto name = [&](int longest) {
    return test::parse_tally(tally_text(build.profile, {.longest_name = longest})).at(0).names.at(0);
  };
  EXPECT_EQ(name(20), "abcdefghijklmnopqrst");
  EXPECT_EQ(name(-1), "abcdefghijklmnopqrst");
  EXPECT_EQ(name(19), "abcdefg[...]nopqrst");
  EXPECT_EQ(name(10), "ab[...]rst");
  EXPECT_EQ(name(4), "[...");
}

TEST(TallyText, CountsAreTuplesOrDistinctValues) {
  ProfileBuilder build;
  const int source = build.source("BACKEND_ZE", 1);
  // Two hosts use the same numbers of processes and threads; each process has two threads on the same device.
  const int device = build.device(5, 6);
  for (const char* host : {"a", "b"}) {
    const int process = build.process(host, 100, 0);
    for (const std::uint32_t thread : {1U, 2U}) {
      build.row(Kind::device, source, process, thread, "k", statistics({1})).device = device;
    }
  }
  const auto counts = [&](TitleCounts kind) {
    return test::parse_tally(tally_text(build.profile, {.counts = kind})).at(0).counts;
  };
  using Counts = std::map<std::string, long>;
  EXPECT_EQ(counts(TitleCounts::tuples),
            (Counts{{"Hostnames", 2}, {"Processes", 2}, {"Threads", 4}, {"Devices", 4}, {"Subdevices", 4}}));
  EXPECT_EQ(counts(TitleCounts::distinct),
            (Counts{{"Hostnames", 2}, {"Processes", 1}, {"Threads", 2}, {"Devices", 1}, {"Subdevices", 1}}));
}

TEST(TallyText, SourcesOfOneLevelShareATableAndOperationsStandForAbsentCalls) {
  ProfileBuilder build;
  const int ze = build.source("BACKEND_ZE", 1);
  const int cuda = build.source("BACKEND_CUDA", 1);
  const int tutti = build.source("BACKEND_TUTTI", 9);
  const int process = build.process("n1", 1, 0);
  build.row(Kind::host, ze, process, 1, "zeInit", statistics({5}));
  build.row(Kind::operation, ze, process, 1, "allreduce", statistics({50}));
  build.row(Kind::host, cuda, process, 1, "cuInit", statistics({4}));
  build.row(Kind::operation, tutti, process, 1, "allreduce", statistics({60}));
  build.row(Kind::allocation, tutti, process, 1, "tutti", statistics({4096}));
  const auto tables = test::parse_tally(tally_text(build.profile));
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "BACKEND_TUTTI");
  EXPECT_EQ(tables[0].names, (std::vector<std::string>{"allreduce", "Total"}));
  EXPECT_EQ(tables[1].title, "BACKEND_CUDA,BACKEND_ZE");
  EXPECT_EQ(tables[1].names, (std::vector<std::string>{"zeInit", "cuInit", "Total"}));
}

TEST(TallyText, ExtendedTablesNameTheirPlace) {
  ProfileBuilder build;
  const int ze = build.source("BACKEND_ZE", 1);
  const int first = build.process("n1", 10, 0);
  const int second = build.process("n2", 11, 1);
  build.row(Kind::host, ze, first, 20, "zeInit", statistics({5}));
  build.row(Kind::host, ze, second, 21, "zeInit", statistics({6}));
  build.row(Kind::device, ze, second, 21, "k", statistics({7})).device = build.device(3, 0);
  const std::string text = tally_text(build.profile, {.extended = true});
  EXPECT_TRUE(text.starts_with("BACKEND_ZE | Hostname: n1 | Process: 10 | Thread: 20 | \n\n")) << text;
  EXPECT_NE(text.find("\n\nBACKEND_ZE | Hostname: n2 | Process: 11 | Thread: 21 | \n\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\nDevice profiling | Hostname: n2 | Process: 11 | Thread: 21 | Device pointer: 3 | \n\n"),
            std::string::npos)
      << text;
}

TEST(TallyText, EmptyAndDamagedProfiles) {
  EXPECT_EQ(tally_text(Profile{}), "");
  ProfileBuilder build;
  TallyRow& row = build.row(Kind::device, 99, 77, 1, "bad\x1b[31m\nname", statistics({1}));
  row.device = 1000;
  const std::string text = tally_text(build.profile);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("bad?[31m?name"), std::string::npos);
  EXPECT_FALSE(tally_text(build.profile, {.extended = true}).empty());
}

/// Names of runs stand in front of the users' lines; the rest is what tally_text prints for such a profile.
TEST(TallyText, HeaderLinesOfUsersAreThoseOfDistinctCounts) {
  for (const std::string_view noted : test::kThapiHeaderLines) {
    const std::string line(noted.substr(noted.find(' ') + 1, noted.rfind('|') - noted.find(' ')));
    const test::ParsedTable wanted = test::parse_header(line);
    const bool device = wanted.title == "Device profiling";
    ProfileBuilder build;
    const int source = build.source("BACKEND_ZE", 1);
    const long threads = wanted.counts.at("Threads");
    std::vector<int> processes;
    for (long i = 0; i < wanted.counts.at("Processes"); ++i) {
      processes.push_back(build.process("node", 1000 + static_cast<std::uint32_t>(i), static_cast<int>(i)));
    }
    for (long i = 0; i < std::max(threads, device ? wanted.counts.at("Subdevices") : 0); ++i) {
      TallyRow& row = build.row(device ? Kind::device : Kind::host, source,
                                processes[static_cast<std::size_t>(i) % processes.size()],
                                2000 + static_cast<std::uint32_t>(i % threads), "f", statistics({1}));
      if (!device) continue;
      const long sub_devices = wanted.counts.at("Subdevices");
      row.device = build.device(static_cast<std::uint64_t>(i % wanted.counts.at("Devices")) + 1,
                                static_cast<std::uint64_t>(i % sub_devices));
    }
    const std::string text = tally_text(build.profile, {.counts = TitleCounts::distinct});
    EXPECT_EQ(text.substr(0, text.find('\n')), line + " ");
  }
}

TEST(TallyText, ReadBackTablesHaveTheValuesOfTheProfile) {
  std::mt19937_64 random(11);
  ProfileBuilder build;
  const int source = build.source("BACKEND_MPI", 3);
  std::map<std::string, Statistics> wanted;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const int process = build.process("n", i, static_cast<int>(i));
    for (int f = 0; f < 7; ++f) {
      std::vector<std::uint64_t> values(1 + random() % 5);
      for (std::uint64_t& value : values) value = random() >> (20 + random() % 40);
      const Statistics row = statistics(values, random() % 2);
      wanted["f" + std::to_string(f)].add(row);
      build.row(Kind::host, source, process, i, "f" + std::to_string(f), row);
    }
  }
  const auto table = test::parse_tally(tally_text(build.profile)).at(0);
  ASSERT_EQ(table.rows.size(), wanted.size() + 1);
  Statistics total;
  for (const auto& [name, sum] : wanted) {
    total.add(sum);
    const auto& cells = table.rows.at(name).cells;
    // Two decimals of a value that is at least one.
    const auto near = [](double shown, std::uint64_t value) {
      return std::abs(shown - static_cast<double>(value)) <= 0.0051 * static_cast<double>(value);
    };
    EXPECT_TRUE(near(cells.at("Time"), sum.total)) << name;
    EXPECT_TRUE(near(cells.at("Min"), sum.min)) << name;
    EXPECT_TRUE(near(cells.at("Max"), sum.max)) << name;
    EXPECT_EQ(cells.at("Calls"), static_cast<double>(sum.calls));
    EXPECT_EQ(cells.at("Error"), static_cast<double>(sum.errors));
  }
  EXPECT_EQ(table.names.back(), "Total");
  EXPECT_EQ(table.rows.at("Total").cells.at("Calls"), static_cast<double>(total.calls));
  EXPECT_EQ(table.rows.at("Total").cells.at("Error"), static_cast<double>(total.errors));
  double before = 1e300;
  for (const std::string& name : table.names) {
    if (name == "Total") continue;
    EXPECT_LE(table.rows.at(name).cells.at("Time"), before);
    before = table.rows.at(name).cells.at("Time");
  }
}

TEST(TallyJson, KeysOfCompactAndExtended) {
  ProfileBuilder build;
  const int ze = build.source("BACKEND_ZE", 1);
  const int process = build.process("n1", 10, 0);
  build.row(Kind::host, ze, process, 20, "zeInit", statistics({5, 7}));
  build.row(Kind::host, ze, process, 20, "zeMemFree", statistics({1}, 1));
  build.row(Kind::device, ze, process, 20, "_ZTS1K", statistics({9})).device = build.device(3, 4);
  build.row(Kind::traffic, ze, process, 20, "copy", statistics({64}));
  EXPECT_EQ(
      tally_json(build.profile),
      R"({"device":{"data":{"K":{"call":1,"max":9,"min":9,"time":9},"Total":{"call":1,"max":9,"min":9,"time":9}}},)"
      R"("host":{"1":{"data":{"Total":{"call":4,"error":1,"max":7,"min":1,"time":13},)"
      R"("zeInit":{"call":2,"max":7,"min":5,"time":12},"zeMemFree":{"call":2,"error":1,"max":1,"min":1,"time":1}}}},)"
      R"("traffic":{"1":{"data":{"Total":{"call":1,"max":64,"min":64,"time":64},)"
      R"("copy":{"call":1,"max":64,"min":64,"time":64}}}},"units":{"size":"bytes","time":"ns"}})"
      "\n");
  const auto extended = nlohmann::json::parse(tally_json(build.profile, {.extended = true}));
  const auto& place = extended.at("device").at(0);
  EXPECT_EQ(place.at("Hostname"), "n1");
  EXPECT_EQ(place.at("Process"), 10);
  EXPECT_EQ(place.at("Thread"), 20);
  EXPECT_EQ(place.at("Device pointer"), 3);
  EXPECT_EQ(place.at("Subdevice pointer"), 4);
  EXPECT_EQ(extended.at("host").at("1").at(0).at("data").at("Total").at("call"), 4);
}

TEST(KernelName, OfCppOfSyclAndOfOpenMp) {
  EXPECT_EQ(kernel_name("_Z4axpyi"), "axpy(int)");
  EXPECT_EQ(kernel_name("_ZTS4Axpy"), "Axpy");
  EXPECT_EQ(kernel_name("__omp_offloading_10_2f_main_l12"), "__omp_offloading_10_2f_main_l12");
  EXPECT_EQ(kernel_name("__omp_offloading_10_2f__Z4axpyi_l12"), "axpy(int)_l12");
  EXPECT_EQ(kernel_name("i"), "i");
  EXPECT_EQ(kernel_name("_Znonsense"), "_Znonsense");
  EXPECT_EQ(kernel_name("__omp_offloading_"), "__omp_offloading_");
  EXPECT_EQ(kernel_name(""), "");
}

}  // namespace
}  // namespace tutti::profiling
