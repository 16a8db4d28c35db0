// The counts in the cells of a sweep, of a backend with known costs: per operation 3 calls, 2 allocations of 1000 and
// 24 bytes, and 5 ms more above 4 MiB.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "launch/event_loop.hpp"
#include "launch/local_socket.hpp"
#include "support.hpp"
#include "sweep/protocol.hpp"
#include "sweep/rank/counted_calls.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;

constexpr int kCalls = 3;  // counted calls of a cell

std::map<std::string, std::string> with_fakes(std::map<std::string, std::string> environment = {}) {
  environment["TUTTI_MODULE_PATH"] = TUTTI_TEST_MODULES;
  return environment;
}

Json sweep(Words options, const std::map<std::string, std::string>& environment, int code = 0) {
  const TemporaryFolder folder;
  Words words = {"sweep", "--quiet", "--iterations", "3", "--json", folder.file("out.json")};
  words.insert(words.end(), options.begin(), options.end());
  const CommandResult result = run_tutti(words, environment);
  EXPECT_EQ(result.code, code) << result.output;
  const Json document = Json::parse(read_file(folder.file("out.json")), nullptr, false);
  return document.is_object() && document.contains("rows") ? document : Json{{"rows", Json::array()}};
}

void expect_costly(const Json& row, int ranks) {
  const int operations = kCalls * ranks;
  EXPECT_EQ(row["status"], "ok") << row;
  EXPECT_EQ(row["served_by"], "fake_costly") << row;
  EXPECT_EQ(row["counted_calls"], kCalls) << row;
  EXPECT_EQ(row["host_calls"], 3 * operations) << row;
  EXPECT_EQ(row["alloc_calls"], 2 * operations) << row;
  EXPECT_EQ(row["alloc_bytes"], 1024 * operations) << row;
  EXPECT_EQ(row["peak_bytes"], 1024) << row;
  for (const char* key : {"device_calls", "device_time_us", "traffic_calls", "traffic_bytes"}) EXPECT_EQ(row[key], 0);
  const bool is_slow = row["bytes"] > 4 << 20;
  if (is_slow) {
    EXPECT_GE(row["time_us_min"], 5000) << row;
    EXPECT_GE(row["host_time_us"], 5000 * operations) << row;
  } else {
    EXPECT_GT(row["host_time_us"], 0) << row;
  }
}

class SweepCounts : public testing::TestWithParam<int> {};

TEST_P(SweepCounts, AreExact) {
  const int ranks = GetParam();
  const Json document = sweep({"--ranks", std::to_string(ranks), "--backends", "fake_costly", "--sizes", "1K,4M,8M",
                               "--ops", "allreduce,reduce_scatter"},
                              with_fakes());
  ASSERT_EQ(document["rows"].size(), 6U) << document;
  for (const Json& row : document["rows"]) expect_costly(row, ranks);
  const Json& setup = document["backends"][0];
  EXPECT_EQ(setup["hostnames"], 1);
  EXPECT_EQ(setup["processes"], ranks);
  EXPECT_GE(setup["threads"], ranks);
  EXPECT_EQ(setup["devices"], 0);
  EXPECT_EQ(setup["subdevices"], 0);
  EXPECT_EQ(std::filesystem::path(setup["library"].get<std::string>()).filename(), "libtutti_backend_fake_costly.so");
}

INSTANTIATE_TEST_SUITE_P(Ranks, SweepCounts, testing::Values(1, 2, 3), testing::PrintToStringParamName());

TEST(SweepCells, AreExactAfterOneThatFailed) {
  const Json rows = sweep({"--ranks", "2", "--backends", "fake_costly", "--sizes", "1K,2K,4K"},
                          with_fakes({{"TUTTI_SWEEP_FAULT", "crash@2048:fake_costly"}}), 1)["rows"];
  ASSERT_EQ(rows.size(), 3U);
  expect_costly(rows[0], 2);
  EXPECT_NE(rows[1]["status"], "ok");
  EXPECT_EQ(rows[1]["served_by"], "fake_costly");
  for (const char* key : {"counted_calls", "host_calls", "host_time_us", "alloc_bytes", "peak_bytes"})
    EXPECT_TRUE(rows[1][key].is_null()) << key;
  expect_costly(rows[2], 2);
}

TEST(SweepCells, AreServedByTheLeafOfTheirSize) {
  const Json rows = sweep({"--ranks", "2", "--backends", "fake_composite", "--sizes", "2M..8M"},
                          with_fakes({{"TUTTI_FAKE_COMPOSITE_LEAVES", "native,fake_costly"},
                                      {"TUTTI_FAKE_COMPOSITE_LIMIT", std::to_string((4 << 20) + 1)}}))["rows"];
  ASSERT_EQ(rows.size(), 3U);
  for (const int i : {0, 1}) {
    EXPECT_EQ(rows[i]["served_by"], "native");
    // The engine is its own library: the operation is the call.
    EXPECT_EQ(rows[i]["host_calls"], kCalls * 2) << rows[i];
    EXPECT_GT(rows[i]["host_time_us"], 0);
    EXPECT_EQ(rows[i]["alloc_calls"], 0) << rows[i];
  }
  expect_costly(rows[2], 2);
}

TEST(SweepHead, DescribesTheMachineAndTheSettings) {
  const Json document = sweep({"--ranks", "2", "--backends", "native", "--sizes", "1K"}, with_fakes());
  const Json& head = document["head"];
  for (const char* key : {"tutti", "hostname", "cpu", "kernels"}) EXPECT_NE(head[key], "") << key;
  EXPECT_GT(head["cores"], 0);
  EXPECT_GT(head["memory_bytes"], 0);
  const std::string begun = head["begun"];
  EXPECT_TRUE(begun.size() == 20 && begun[10] == 'T' && begun.back() == 'Z') << begun;
  const Json path = std::string("TUTTI_MODULE_PATH=") + TUTTI_TEST_MODULES;
  EXPECT_NE(std::ranges::find(head["settings"], path), head["settings"].end()) << head;
  EXPECT_NE(document["backends"][0]["library"].get<std::string>().find("libtutti.so"), std::string::npos);
}

/// Lines of the ranks of a job, by their first word.
using Lines = std::multimap<tools::SweepWord, std::string>;

/// Runs the ranks' part of a sweep; `cells` as tools::parse_cells() takes them.
Lines run_ranks(const std::string& cells, const std::string& ranks, Words options = {}) {
  Lines lines;
  tools::EventLoop loop;
  tools::LineServer server(
      loop,
      [&](int, std::string_view line) {
        if (const auto message = tools::decode(line)) lines.emplace(message->word, message->text);
      },
      [](int) {});
  Words words = {"run",          "-n",       ranks,         "--backend", "fake_costly", "--",      TUTTI_COMMAND,
                 "sweep-rank",   "--report", server.name(), "--ranks",   ranks,         "--cells", cells,
                 "--iterations", "3",        "--dtype",     "int8",      "--counted"};
  words.insert(words.end(), options.begin(), options.end());
  std::atomic<bool> is_over = false;
  CommandResult result;
  std::thread job([&] {
    result = run_tutti(words, with_fakes());
    is_over = true;
  });
  while (!is_over) loop.wait(tools::Clock::now() + 20ms);
  job.join();
  server.drain();
  EXPECT_EQ(result.code, 0) << result.output;
  return lines;
}

void expect_costly_ranks(const Lines& lines, std::size_t reports, std::uint64_t calls) {
  for (const auto& [word, text] : lines) {
    EXPECT_NE(word, tools::SweepWord::wrong) << text;
    EXPECT_NE(word, tools::SweepWord::failed) << text;
  }
  EXPECT_EQ(lines.count(tools::SweepWord::ok), reports);
  EXPECT_EQ(lines.count(tools::SweepWord::counts), reports);
  const auto [first, last] = lines.equal_range(tools::SweepWord::counts);
  for (auto line = first; line != last; ++line) {
    const auto counts = tools::counts_from(line->second);
    ASSERT_TRUE(counts) << line->second;
    EXPECT_EQ(counts->calls, calls);
    EXPECT_EQ(counts->host_calls, 3 * calls);
    EXPECT_EQ(counts->alloc_calls, 2 * calls);
    EXPECT_EQ(counts->alloc_bytes, 1024 * calls);
  }
}

constexpr const char* kInPlaceCells =
    "allreduce:999:in-place,allgather:3K:in-place,allgatherv:3K:in-place,reduce_scatter:3K:in-place,"
    "broadcast:999:in-place,reduce:999:in-place,gather:3K:in-place,gatherv:3K:in-place,scatter:3K:in-place,"
    "scatterv:3K:in-place,reduce_scatterv:3K:in-place";

TEST(SweepRank, CellsInPlaceAreRightAndExact) { expect_costly_ranks(run_ranks(kInPlaceCells, "3"), 33, kCalls); }

TEST(SweepRank, SeveralCommunicatorsAreRightAndExact) {
  expect_costly_ranks(run_ranks("allreduce:64K,alltoall:64K,allreduce:64K:in-place", "2", {"--concurrent", "3"}), 6,
                      std::uint64_t{3} * kCalls);
}

TEST(SweepRank, SeveralCommunicatorsOnADeviceAreRightAndExact) {
  const Lines lines =
      run_ranks("allreduce:64K,allgather:66K:in-place", "2", {"--concurrent", "3", "--device", "threaded"});
  expect_costly_ranks(lines, 4, std::uint64_t{3} * kCalls);
  EXPECT_EQ(lines.count(tools::SweepWord::staged), 4U) << "the fake device is reached through host memory only";
}

}  // namespace
}  // namespace tutti::test
