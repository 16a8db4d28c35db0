#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "sinks/timeline/timeline.hpp"
#include "synthetic_profile.hpp"

namespace tutti::test {
namespace {

using nlohmann::json;
using profiling::EventRow;
using profiling::Kind;
using profiling::Profile;

json parse(const Profile& profile) {
  std::string text;
  profiling::write_chrome_json(profile, [&](std::string_view bytes) { text += bytes; });
  return json::parse(text);
}

/// Nanoseconds of a time in microseconds.
std::uint64_t nanoseconds(const json& time) {
  return static_cast<std::uint64_t>(std::llround(time.get<double>() * 1000));
}

TEST(ChromeJson, HasTheSlicesOfTheEventsOnTheirProcesses) {
  const Profile profile = random_profile(1, 60);
  const json trace = parse(profile);
  const std::uint64_t start = std::stoull(trace["otherData"]["start_realtime_ns"].get<std::string>());
  std::multiset<std::tuple<int, std::uint64_t, std::uint64_t>> expected, found;
  for (const EventRow& event : profile.events) {
    if (event.kind == Kind::allocation || event.kind == Kind::release) continue;
    const auto offset =
        static_cast<std::uint64_t>(profile.processes[static_cast<std::size_t>(event.process)].realtime_offset);
    expected.emplace(event.process + 1, event.begin_ns + offset - start, event.end_ns - event.begin_ns);
  }
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] != "region")
      found.emplace(event["pid"], nanoseconds(event["ts"]), nanoseconds(event["dur"]));
  }
  EXPECT_EQ(found, expected);
}

TEST(ChromeJson, NamesSurviveQuotesNewLinesAndForeignBytes) {
  ProfileBuilder builder;
  const int source = builder.source("BACKEND_\"MPI\"", 3);
  const int process = builder.process("node", 0);
  builder.event("a \"b\"\n\\\t\x01 \xFF end",
                {.kind = Kind::host, .source = source, .process = process, .thread = 1, .begin_ns = 1, .end_ns = 2});
  const json trace = parse(builder.finish());
  const json& event = trace["traceEvents"].back();
  EXPECT_EQ(event["name"], "a \"b\"\n\\\t\x01 \xEF\xBF\xBD end");
  EXPECT_EQ(event["cat"], "BACKEND_\"MPI\"");
}

TEST(ChromeJson, SlicesOfATrackNest) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::uint64_t, std::uint64_t>>> tracks;
  const json trace = parse(random_profile(2, 60));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const std::uint64_t begin = nanoseconds(event["ts"]);
    tracks[{event["pid"], event["tid"]}].emplace_back(begin, begin + nanoseconds(event["dur"]));
  }
  EXPECT_GT(tracks.size(), 9U);
  for (const auto& [track, slices] : tracks) {
    std::vector<std::uint64_t> open;
    for (const auto& [begin, end] : slices) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      EXPECT_TRUE(open.empty() || end <= open.back()) << track.first << ' ' << track.second << ' ' << begin;
      open.push_back(end);
    }
  }
}

TEST(ChromeJson, ArrowsGoForwardAlsoWhereTheDeviceBeginsBeforeTheCallReturns) {
  const Profile profile = random_profile(3, 60);
  const json trace = parse(profile);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> arrows;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") arrows[event["id"]].first = nanoseconds(event["ts"]);
    if (event["ph"] == "f") arrows[event["id"]].second = nanoseconds(event["ts"]);
  }
  std::size_t works = 0;
  for (const EventRow& event : profile.events) works += event.kind == Kind::device;
  EXPECT_EQ(arrows.size(), works);
  for (const auto& [id, times] : arrows) EXPECT_LE(times.first, times.second) << id;
}

TEST(ChromeJson, CountersAndNamesOfTracksAreThere) {
  const Profile profile = random_profile(4, 60);
  const json trace = parse(profile);
  std::size_t counters = 0;
  std::size_t changes = 0;
  std::map<int, std::string> processes;
  std::set<std::string> threads;
  for (const json& event : trace["traceEvents"]) {
    counters += event["ph"] == "C";
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") threads.insert(event["args"]["name"]);
  }
  for (const EventRow& event : profile.events) changes += event.kind == Kind::allocation || event.kind == Kind::release;
  EXPECT_EQ(counters, changes);
  EXPECT_EQ(processes, (std::map<int, std::string>{{1, "rank 2: train --steps 3 (pid 1000) on node-a"},
                                                   {2, "rank 1: train --steps 3 (pid 1001) on node-a"},
                                                   {3, "rank 0: train --steps 3 (pid 1002) on node-b"}}));
  EXPECT_TRUE(threads.contains("main thread, async operations"));
}

TEST(ChromeJson, OfAnEmptyProfileIsValid) { EXPECT_TRUE(parse({})["traceEvents"].empty()); }

}  // namespace
}  // namespace tutti::test
