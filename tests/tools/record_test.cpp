// tutti record and tutti replay as a user runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "support.hpp"

namespace tutti::test {
namespace {

const Words kRun = {"run", "-n", "2", "--backend", "native", "--no-prefix", "--"};

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The record without times.
std::string without_times(const std::string& path) {
  return std::regex_replace(read_file(path), std::regex(" [+=][0-9.,-]+"), "");
}

/// The two ranks send to each other, and so their records are the same but for the peer.
std::string sequence_of(int rank) {
  const std::string peer = std::to_string(1 - rank);
  return "sequence " + std::to_string(rank) + R"( events=13
#1
#1
#1
#2
#3
wait
#4
group async
)" +
         "  send 10 float32 to=" + peer + "\n  recv 10 float32 from=" + peer + R"(
end
wait
#5
)";
}

void expect_record(const std::string& path) {
  const std::string text = without_times(path);
  EXPECT_EQ(text.find("tutti-record 1\nranks 2\nabout \""), 0u) << text;
  const std::string expected = R"(
backend "native"
communicator 0 ranks=all name="world"
communicator 1 ranks=1,0 name="turned"
define 1 allreduce 256 float32 sum in_place label="grad"
define 2 allreduce 256 float32 max async
define 3 allgather 2 float64
define 4 broadcast 1 int32 root=1 comm=1
define 5 barrier
)";
  const std::size_t begin = text.find("\nbackend ");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_EQ(text.substr(begin), expected + sequence_of(0) + sequence_of(1));
}

Words record(const std::string& file, const Words& ranks) {
  return joined({"record", "-o", file, "--", TUTTI_COMMAND}, joined(kRun, ranks));
}

TEST(Record, InFrontOfALauncher) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.record");
  const CommandResult result = run_tutti(record(file, {TUTTI_TEST_RANKS}));
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output, "");
  expect_record(file);
  EXPECT_FALSE(std::filesystem::exists(file + ".parts"));
}

TEST(Record, InsideALauncher) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.record");
  const CommandResult result = run_tutti(joined(kRun, {TUTTI_COMMAND, "record", "-o", file, "--", TUTTI_TEST_RANKS}));
  EXPECT_EQ(result.code, 0) << result.output;
  expect_record(file);
  EXPECT_FALSE(std::filesystem::exists(file + ".parts"));
}

TEST(Record, TheCommandKeepsItsExitCodeAndAKilledRankLeavesItsRecord) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.record");
  CommandResult result = run_tutti(record(file, {TUTTI_TEST_RANKS, "exit", "7"}));
  EXPECT_EQ(result.code, 7) << result.output;
  expect_record(file);
  result = run_tutti(record(file, {TUTTI_TEST_RANKS, "die"}));
  EXPECT_EQ(result.code, 137) << result.output;
  EXPECT_NE(result.output.find("rank 1 did not end in order"), std::string::npos) << result.output;
  const std::string text = without_times(file);
  // Rank 0 may have been ended before it called anything else; then it has the same sequence.
  EXPECT_TRUE(std::regex_search(text, std::regex("sequence (0-)?1 events=3\n#1\n#1\n#1\n"))) << text;
}

TEST(Record, CommandsThatCannotBeRecordedRunNevertheless) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.record");
  CommandResult result = run_tutti({"record", "-o", file, "--", "sh", "-c", "echo hello; exit 3"});
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.output.find("hello\n"), std::string::npos);
  EXPECT_NE(result.output.find("nothing was recorded"), std::string::npos) << result.output;
  EXPECT_FALSE(std::filesystem::exists(file + ".parts"));
  EXPECT_EQ(run_tutti({"record", "-o", file, "--", "/does/not/exist"}).code, 127);
  EXPECT_EQ(run_tutti({"record", "-o", file}).code, 2);
  EXPECT_EQ(run_tutti({"record", "-o", folder.path(), "--", "true"}).code, 2);
}

TEST(Replay, ARecordRunsOnEveryBackend) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.record");
  ASSERT_EQ(run_tutti(record(file, {TUTTI_TEST_RANKS})).code, 0);
  const std::string json = folder.file("replay.json");
  const CommandResult result = run_tutti({"replay", file, "--backend", TUTTI_TEST_BACKENDS, "--check", "--rounds", "2",
                                          "--gaps", "0.5", "--quiet", "--json", json});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("all results right"), std::string::npos) << result.output;
  const auto document = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(document["ranks"], 2);
  const auto& backends = document["backends"];
  ASSERT_GE(backends.size(), 1u);
  for (const auto& backend : backends) EXPECT_EQ(backend["status"], "ok") << backend.dump();
  for (const auto& operation : document["operations"]) {
    const bool is_sum = operation["operation"] == "allreduce";
    if (is_sum) {
      EXPECT_EQ(operation["bytes"], 1024);
      EXPECT_EQ(operation["calls"], 8);
    }
    for (const auto& [name, on] : operation["on"].items()) EXPECT_EQ(on["calls"], operation["calls"]) << name;
  }
}

TEST(Replay, ThePrefixOfAKilledJobRuns) {
  const TemporaryFolder folder;
  const std::string file = folder.add("killed",
                                      "tutti-record 1\nranks 2\n"
                                      "sequence 0\nallreduce 4 int32 sum\nbarrier\nbroadcast 9 int8 root=1\n"
                                      "sequence 1\nallreduce 4 int32 sum\nbarrier\n");
  CommandResult result = run_tutti({"replay", file, "--backend", "native", "--quiet"});
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.output.find("--prefix"), std::string::npos) << result.output;
  result = run_tutti({"replay", file, "--backend", "native", "--check", "--quiet", "--prefix"});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("4 operations of all ranks; 1 behind it are left out"), std::string::npos)
      << result.output;
  EXPECT_EQ(result.output.find("broadcast"), std::string::npos) << result.output;
}

TEST(Replay, SizesBeforeAndAfterAutotune) {
  const TemporaryFolder folder;
  const std::string file = folder.add("steps",
                                      "tutti-record 1\nranks 2\nsequence 0-1\nrepeat 2\n"
                                      "allreduce 30 float32 sum async label=\"a\"\n"
                                      "allreduce 4000000 float32 sum async label=\"b\" +1ms\nwait all\nend\n");
  const std::string json = folder.file("replay.json");
  const CommandResult result = run_tutti(
      {"replay", file, "--backend", "horovod:native", "--autotune", "--sizes", "csv", "--quiet", "--json", json},
      {{"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1"},
       {"HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0"},
       {"HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "2"}});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("size,count before,average MB before,Mbps before"), std::string::npos) << result.output;
  const auto document = nlohmann::json::parse(read_file(json));
  const auto& backends = document["backends"];
  ASSERT_EQ(backends.size(), 2u);
  EXPECT_EQ(backends[1]["backend"], "horovod:native tuned");
  EXPECT_TRUE(
      std::regex_match(backends[1]["tuned"].get<std::string>(), std::regex("0,0,0, [01],[0-9.]+,[0-9.]+,[0-9.e+]+")))
      << backends[1].dump();
  for (const auto& backend : backends) {
    // However the tensors were fused, all bytes of the two steps have passed.
    std::uint64_t bytes = 0;
    for (const auto& row : backend["sizes"]) {
      EXPECT_EQ(row["operation"], "allreduce");
      EXPECT_GT(row["bus_mbps"], 0);
      bytes += row["bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(bytes, 2u * 4u * 4'000'030u);
  }
}

TEST(Replay, ErrorsComeBeforeTheStart) {
  const TemporaryFolder folder;
  const std::string good = folder.add("good", "tutti-record 1\nranks 2\nsequence 0-1\nbarrier\n");
  const std::vector<std::pair<Words, std::string>> rows = {
      {{"replay", good, "-n", "3"}, "is of 2 ranks and cannot be replayed on 3"},
      {{"replay", folder.add("version", "tutti-record 9\n")}, "of format version 9"},
      {{"replay", folder.add("unknown", "tutti-record 1\nranks 1\nsequence 0\nscan 3 int8\n")}, "unknown operation"},
      {{"replay", folder.add("cut", "tutti-record 1\nranks 2\nsequence 0-1 events=9\nbarrier\n")}, "cut off"},
      {{"replay", folder.add("lost", "tutti-record 1\nranks 2\nsequence 0\nsend 1 int8 to=1\nsequence 1\n")},
       "never received"},
      {{"replay", folder.file("absent")}, "alexnet, resnet101, resnet18, resnet50, transformer, vgg16"},
      {{"replay", good, "--autotune", "--backend", "native"}, "backends that tune"},
      {{"replay", good, "--autotune", "--backend", "horovod:native"}, "operations with labels"},
      {{"replay", good, "--sizes", "html"}, "no format of tables"},
      {{"replay", good, "--rate", "fast"}, "is no rate"},
      {{"replay", good, "--gaps", "-1"}, "is no factor for gaps"},
      {{"replay", good, "--backend", "nonsense"}, "nonsense"}};
  for (const auto& [words, expected] : rows) {
    const CommandResult result = run_tutti(words);
    EXPECT_NE(result.code, 0);
    EXPECT_NE(result.output.find(expected), std::string::npos) << result.output;
  }
}

TEST(Replay, ShippedRecordsHaveTheModelsParameters) {
  for (const auto& [name, parameters] : {std::pair<std::string, long>{"alexnet", 61'100'840},
                                         {"resnet18", 11'689'512},
                                         {"resnet50", 25'557'032},
                                         {"resnet101", 44'549'160},
                                         {"transformer", 109'482'240},
                                         {"vgg16", 138'357'544}}) {
    const std::string text = read_file(std::string(TUTTI_TEST_RECORDS) + "/" + name + ".record");
    long sum = 0;
    const std::regex count("allreduce ([0-9]+) float32");
    for (std::sregex_iterator match(text.begin(), text.end(), count), end; match != end; ++match)
      sum += std::stol((*match)[1]);
    EXPECT_EQ(sum, parameters) << name;
  }
  const CommandResult result =
      run_tutti({"replay", "resnet50", "-n", "2", "--backend", "native", "--gaps", "none", "--quiet"});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("ResNet-50"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace tutti::test
