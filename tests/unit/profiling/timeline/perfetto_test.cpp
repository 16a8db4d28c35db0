// Traces are decoded with Perfetto's own schema (decode_perfetto.py) and compared with the profile.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "sinks/timeline/timeline.hpp"
#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"
#include "synthetic_profile.hpp"

namespace tutti::test {
namespace {

using nlohmann::json;
using profiling::EventRow;
using profiling::Kind;
using profiling::Profile;

/// The trace of the profile as decode_perfetto.py prints it; null where it cannot be decoded.
json decode(const Profile& profile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.pftrace");
  {
    std::ofstream file(path, std::ios::binary);
    profiling::write_perfetto(profile, [&](std::string_view bytes) { file << bytes; });
  }
  const CommandResult result = run_command({TUTTI_TEST_PYTHON, TUTTI_TEST_DECODER, path}, {}, std::chrono::seconds(60));
  EXPECT_EQ(result.code, 0) << result.output;
  return result.code == 0 ? json::parse(result.output) : json();
}

/// The words of a label that a test knows without the code that made it.
std::string expected_name(const Profile& profile, const EventRow& event) {
  std::string name = profile.names[event.name];
  if (event.kind == Kind::operation) name += event.context == 0 ? " 1 MiB" : " 1000 B";
  for (std::size_t at = 0; (at = name.find('\xFF', at)) != std::string::npos;) name.replace(at, 1, "\xEF\xBF\xBD");
  return name;
}

/// Host, rank, name, category, begin, end.
using Row = std::tuple<std::string, std::string, std::string, std::string, std::uint64_t, std::uint64_t>;

class Perfetto : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!profiling::perfetto_built()) TUTTI_SKIP_OR_FAIL("perfetto", "libprotozero-dev was absent when this was built");
    if (!std::filesystem::exists(TUTTI_TEST_PYTHON))
      TUTTI_SKIP_OR_FAIL("perfetto", "the wheels perfetto and protobuf are absent; ./tutti setup installs them");
  }
};

TEST_F(Perfetto, HasASliceForEachEventAndNoOther) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Profile profile = random_profile(seed, 40);
    const json trace = decode(profile);
    ASSERT_FALSE(trace.is_null());
    std::multiset<Row> expected, found;
    for (const EventRow& event : profile.events) {
      if (event.kind == Kind::allocation || event.kind == Kind::release) continue;
      const auto& process = profile.processes[static_cast<std::size_t>(event.process)];
      const auto offset = static_cast<std::uint64_t>(process.realtime_offset);
      expected.emplace(process.host, "rank " + std::to_string(process.rank), expected_name(profile, event),
                       profile.sources[static_cast<std::size_t>(event.source)].title, event.begin_ns + offset,
                       event.end_ns + offset);
    }
    for (const json& slice : trace["slices"]) {
      if (slice["category"] == "region") continue;
      const std::string process = slice["track"][1];
      found.emplace(slice["track"][0], process.substr(0, process.find(':')), slice["name"], slice["category"],
                    slice["begin"], slice["end"]);
    }
    EXPECT_EQ(found, expected) << seed;
  }
}

TEST_F(Perfetto, FlowsLeadFromEachLaunchToItsDeviceWork) {
  const Profile profile = random_profile(4, 40);
  const json trace = decode(profile);
  ASSERT_FALSE(trace.is_null());
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> expected, found;
  for (const EventRow& work : profile.events) {
    if (work.kind != Kind::device) continue;
    for (const EventRow& call : profile.events) {
      const auto offset =
          static_cast<std::uint64_t>(profile.processes[static_cast<std::size_t>(call.process)].realtime_offset);
      if (call.kind == Kind::host && call.process == work.process && call.correlation == work.correlation)
        expected.emplace(call.begin_ns + offset, work.begin_ns + offset);
    }
  }
  for (const json& flow : trace["flows"]) {
    const json& from = trace["slices"][flow[0].get<std::size_t>()];
    const json& to = trace["slices"][flow[1].get<std::size_t>()];
    EXPECT_EQ(from["name"], "zeCommandListAppendMemoryCopy");
    EXPECT_LE(from["begin"], to["begin"]);
    found.emplace(from["begin"], to["begin"]);
  }
  EXPECT_EQ(expected.size(), 120U);
  EXPECT_EQ(found, expected);
}

TEST_F(Perfetto, CountersFollowAllocationsPerDevice) {
  const Profile profile = random_profile(5, 40);
  const json trace = decode(profile);
  ASSERT_FALSE(trace.is_null());
  std::map<std::pair<std::string, bool>, std::vector<std::pair<std::uint64_t, std::uint64_t>>> expected, found;
  for (std::size_t index = 0; index < profile.processes.size(); ++index) {
    const auto& process = profile.processes[index];
    std::map<bool, std::uint64_t> held;
    for (const EventRow& event : profile.events) {
      if (event.process != static_cast<int>(index)) continue;
      const bool on_device = event.device >= 0;
      if (event.kind == Kind::allocation) held[on_device] += event.bytes;
      if (event.kind == Kind::release) held[on_device] -= event.bytes;
      if (event.kind == Kind::allocation || event.kind == Kind::release)
        expected[{"rank " + std::to_string(process.rank), on_device}].emplace_back(
            event.begin_ns + static_cast<std::uint64_t>(process.realtime_offset), held[on_device]);
    }
  }
  for (const auto& [path, points] : trace["counters"].items()) {
    const std::size_t rank = path.find("rank ");
    auto& row = found[{path.substr(rank, 6), path.find("/memory (ZE)") != std::string::npos}];
    for (const json& point : points) row.emplace_back(point[0], point[1]);
  }
  EXPECT_EQ(found, expected);
}

TEST_F(Perfetto, TracksAreInTheOrderOfRanksWithDevicesBelowTheirProcess) {
  const json trace = decode(random_profile(6, 20));
  ASSERT_FALSE(trace.is_null());
  std::vector<std::string> processes, below_rank_0;
  std::set<std::string> hosts;
  for (const json& track : trace["tracks"]) {
    if (track.size() == 1) hosts.insert(track[0]);
    if (track.size() == 2) processes.push_back(track[1]);
    if (track.size() > 2 && track[1].get<std::string>().starts_with("rank 0")) {
      std::string path;
      for (std::size_t level = 2; level < track.size(); ++level) path += "/" + track[level].get<std::string>();
      if (below_rank_0.empty() || below_rank_0.back() != path) below_rank_0.push_back(path);
    }
  }
  EXPECT_EQ(hosts, (std::set<std::string>{"node-a", "node-b"}));
  EXPECT_EQ(processes,
            (std::vector<std::string>{"rank 0: train --steps 3 (pid 1002)", "rank 1: train --steps 3 (pid 1001)",
                                      "rank 2: train --steps 3 (pid 1000)"}));
  EXPECT_EQ(below_rank_0, (std::vector<std::string>{
                              "/main thread", "/main thread/async operations", "/thread 5002", "/host memory (ZE)",
                              "/device 0: GPU \xC3\xA9", "/device 0: GPU \xC3\xA9/explicit copies",
                              "/device 0: GPU \xC3\xA9/memory (ZE)", "/device 0: GPU \xC3\xA9/sub-device 0.0",
                              "/device 0: GPU \xC3\xA9/sub-device 0.0/explicit copies"}));
}

TEST_F(Perfetto, SlicesNestAndCarryTheFactsOfTheirEvent) {
  ProfileBuilder builder;
  const int mpi = builder.source("BACKEND_MPI", 3);
  const int process = builder.process("node", 0, 500);
  const int communicator = builder.communicator(process, 1, 0, 2);
  const int context = builder.context({.operation = "allreduce",
                                       .type = "float32",
                                       .backend = "mpi:openmpi",
                                       .label = "grad",
                                       .bytes = 1 << 20,
                                       .ranks = 2});
  const std::uint32_t region = builder.name("step");
  builder.event("allreduce", {.kind = Kind::operation,
                              .source = mpi,
                              .process = process,
                              .context = context,
                              .communicator = communicator,
                              .thread = 1000,
                              .region = region,
                              .begin_ns = 100,
                              .end_ns = 200,
                              .sequence = 7});
  builder.event("MPI_Allreduce", {.kind = Kind::host,
                                  .source = mpi,
                                  .process = process,
                                  .context = context,
                                  .thread = 1000,
                                  .region = region,
                                  .error = -3,
                                  .begin_ns = 100,
                                  .end_ns = 200,
                                  .bytes = 42});
  const json trace = decode(builder.finish());
  ASSERT_FALSE(trace.is_null());
  ASSERT_EQ(trace["slices"].size(), 3U);
  EXPECT_EQ(trace["slices"][0]["name"], "step");
  EXPECT_EQ(trace["slices"][1]["args"], (json{{"bytes", 1 << 20},
                                              {"op", "allreduce"},
                                              {"type", "float32"},
                                              {"backend", "mpi:openmpi"},
                                              {"label", "grad"},
                                              {"ranks", 2},
                                              {"region", "step"},
                                              {"communicator", "world"},
                                              {"sequence", 7}}));
  const json& call = trace["slices"][2];
  EXPECT_EQ(call["above"], (json{"step", "allreduce 1 MiB"}));
  EXPECT_EQ(call["args"]["bytes"], 42);
  EXPECT_EQ(call["args"]["op_bytes"], 1 << 20);
  EXPECT_EQ(call["args"]["error"], -3);
  EXPECT_EQ(call["begin"], 600);
  EXPECT_EQ(call["end"], 700);
}

TEST_F(Perfetto, NamedTensorsHaveATrackEachWithNestedStages) {
  ProfileBuilder builder;
  const int tutti = builder.source("BACKEND_TUTTI", 9);
  const int process = builder.process("node", 0, 500);
  const std::uint32_t region = builder.name("step");
  const auto stage = [&](int context, const char* name, std::uint64_t begin, std::uint64_t end, std::uint32_t thread) {
    builder.event(name, {.kind = Kind::stage,
                         .source = tutti,
                         .process = process,
                         .context = context,
                         .thread = thread,
                         .region = region,
                         .begin_ns = begin,
                         .end_ns = end,
                         .bytes = 400});
  };
  std::vector<int> contexts;
  for (const char* tensor : {"second \"quoted\"", "first"}) {
    contexts.push_back(builder.context(
        {.operation = "allreduce", .type = "float32", .backend = "native", .label = tensor, .bytes = 400, .ranks = 2}));
  }
  // Both at once, told by two threads, the parts before the whole.
  for (const int context : contexts) {
    const std::uint64_t at = context == contexts.front() ? 100 : 90;
    stage(context, "QUEUE", at, at + 10, 1000);
    stage(context, "NEGOTIATE_ALLREDUCE", at + 10, at + 30, 1001);
    stage(context, "MEMCPY_IN_FUSION_BUFFER", at + 30, at + 40, 1001);
    stage(context, "NATIVE_ALLREDUCE", at + 40, at + 60, 1001);
    stage(context, "MEMCPY_OUT_FUSION_BUFFER", at + 60, at + 70, 1001);
    stage(context, "ALLREDUCE", at + 30, at + 80, 1001);
  }
  // The same name in another engine of the process.
  stage(contexts.back(), "QUEUE", 95, 105, 1002);
  const json trace = decode(builder.finish());
  ASSERT_FALSE(trace.is_null());
  std::map<std::string, std::multiset<std::string>> found;
  for (const json& slice : trace["slices"]) {
    const json& track = slice["track"];
    ASSERT_EQ(track.size(), 4U) << slice;
    EXPECT_EQ(track[2], "named tensors");
    std::string path;
    for (const json& above : slice["above"]) path += above.get<std::string>() + "/";
    found[track[3]].insert(path + slice["name"].get<std::string>() + " " + std::to_string(slice["begin"].get<int>()) +
                           "-" + std::to_string(slice["end"].get<int>()));
    EXPECT_EQ(slice["args"]["label"], track[3]);
    EXPECT_EQ(slice["args"]["op"], "allreduce");
    EXPECT_EQ(slice["args"]["backend"], "native");
    EXPECT_EQ(slice["args"]["bytes"], 400);
  }
  EXPECT_EQ(found["first"], (std::multiset<std::string>{
                                "QUEUE 590-600", "QUEUE 595-605", "NEGOTIATE_ALLREDUCE 600-620", "ALLREDUCE 620-670",
                                "ALLREDUCE/MEMCPY_IN_FUSION_BUFFER 620-630", "ALLREDUCE/NATIVE_ALLREDUCE 630-650",
                                "ALLREDUCE/MEMCPY_OUT_FUSION_BUFFER 650-660"}));
  EXPECT_EQ(found["second \"quoted\""].size(), 6U);
  EXPECT_EQ(found.size(), 2U);
}

TEST_F(Perfetto, DeviceWorkBeforeItsCallIsMovedToTheCall) {
  ProfileBuilder builder;
  const int ze = builder.source("BACKEND_ZE", 1);
  const int process = builder.process("node", 0);
  const int device = builder.device(1);
  const EventRow call = {.kind = Kind::host,
                         .source = ze,
                         .process = process,
                         .thread = 1000,
                         .begin_ns = 100,
                         .end_ns = 200,
                         .correlation = 5};
  builder.event("launch", call);
  // Before its call, partly before it, and within it.
  for (const auto& [begin, end] : {std::pair(10, 20), std::pair(50, 150), std::pair(150, 250)}) {
    EventRow work = call;
    work.kind = Kind::device;
    work.device = device;
    work.begin_ns = static_cast<std::uint64_t>(begin);
    work.end_ns = static_cast<std::uint64_t>(end);
    builder.event("kernel", work);
  }
  const json trace = decode(builder.finish());
  ASSERT_FALSE(trace.is_null());
  ASSERT_EQ(trace["flows"].size(), 3U);
  std::vector<std::tuple<int, int, int>> found;
  for (const json& slice : trace["slices"]) {
    if (slice["name"] == "kernel") found.emplace_back(slice["begin"], slice["end"], slice["args"].value("moved_ns", 0));
  }
  EXPECT_EQ(found, (std::vector{std::tuple(100, 100, 90), std::tuple(100, 150, 50), std::tuple(150, 250, 0)}));
}

TEST_F(Perfetto, OfAnEmptyProfileIsAnEmptyTrace) {
  const json trace = decode({});
  ASSERT_FALSE(trace.is_null());
  EXPECT_TRUE(trace["slices"].empty());
}

// Each process defines its texts again, so that long texts make a long trace of a small profile.
TEST(PerfettoSize, IsNotBoundedAndNeedsMemoryForOneProcessOnly) {
  if (!profiling::perfetto_built()) TUTTI_SKIP_OR_FAIL("perfetto", "libprotozero-dev was absent when this was built");
  ProfileBuilder builder;
  const int mpi = builder.source("BACKEND_MPI", 3);
  constexpr int texts = 64;
  constexpr int processes = 140;
  for (int rank = 0; rank < processes; ++rank) {
    const int process = builder.process("node", rank);
    for (std::uint64_t call = 0; call < texts; ++call)
      builder.event(
          std::string(256 << 10, static_cast<char>('0' + call)),
          {.kind = Kind::host, .source = mpi, .process = process, .thread = 1, .begin_ns = call, .end_ns = call});
  }
  const Profile profile = builder.finish();
  const auto peak_kib = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const long before = peak_kib();
  std::uint64_t total = 0;
  std::size_t longest = 0;
  profiling::write_perfetto(profile, [&](std::string_view bytes) {
    total += bytes.size();
    longest = std::max(longest, bytes.size());
  });
  EXPECT_GT(total, std::uint64_t{1} << 31);
  EXPECT_LT(longest, std::size_t{1} << 20);
  EXPECT_LT(peak_kib() - before, 128 << 10);
}

}  // namespace
}  // namespace tutti::test
