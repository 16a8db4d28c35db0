#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/system/temporary_folder.hpp"
#include "timeline/merge_timelines.hpp"
#include "timeline/timeline.hpp"
#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

using Json = nlohmann::json;
using std::chrono::microseconds;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class TimelineTest : public testing::Test {
 protected:
  [[nodiscard]] Json stop_and_parse() {
    EXPECT_EQ(timeline_.stop(), "");
    return Json::parse(read(path_));
  }
  [[nodiscard]] Timeline::Time at(int us) const { return begin_ + microseconds(us); }

  /// "B NEGOTIATE_ALLREDUCE", "X 1", "E", ... of a tensor, without times.
  [[nodiscard]] static std::vector<std::string> events_of(const Json& document, const std::string& tensor) {
    int pid = 0;
    for (const Json& event : document) {
      if (event.value("name", "") == "process_name" && event["args"].value("name", "") == tensor) pid = event["pid"];
    }
    EXPECT_NE(pid, 0) << tensor;
    std::vector<std::string> events;
    for (const Json& event : document) {
      if (event.value("pid", -1) != pid || event["ph"] == "M") continue;
      const std::string name = event.value("name", "");
      events.push_back(event["ph"].get<std::string>() + (name.empty() ? "" : " " + name));
    }
    return events;
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("timeline.json");
  Timeline timeline_;
  Timeline::Time begin_ = std::chrono::steady_clock::now();
};

TEST_F(TimelineTest, ATensorGoesThroughItsStates) {
  timeline_.start(path_, true);
  timeline_.cycle_started(at(1));
  timeline_.negotiation_started("grad", "ALLREDUCE", at(10));
  timeline_.negotiation_started("grad", "ALLREDUCE", at(11));
  timeline_.rank_ready("grad", 0, at(12));
  timeline_.rank_ready("grad", 1, at(20));
  timeline_.negotiation_ended("grad", at(21));
  timeline_.operation_started("grad", "ALLREDUCE", at(22));
  timeline_.activity_started("grad", "QUEUE", at(23));
  timeline_.activity_started("grad", "MPI_ALLREDUCE", at(30));
  timeline_.activity_ended("grad", at(40));
  timeline_.operation_ended("grad", "float32", "[2, 3]", at(41));
  const Json document = stop_and_parse();
  EXPECT_EQ(events_of(document, "grad"),
            (std::vector<std::string>{"B NEGOTIATE_ALLREDUCE", "X 0", "X 1", "E", "B ALLREDUCE", "B QUEUE", "E",
                                      "B MPI_ALLREDUCE", "E", "E"}));
  EXPECT_EQ(document.back()["args"], (Json{{"dtype", "float32"}, {"shape", "[2, 3]"}}));
  EXPECT_GT(document[0]["args"]["start_time_since_epoch_in_micros"].get<std::int64_t>(), 1'600'000'000'000'000);
  EXPECT_EQ(document[1],
            (Json{{"name", "process_sort_index"}, {"ph", "M"}, {"pid", 0}, {"args", {{"sort_index", 0}}}}));
  EXPECT_EQ(document[2]["name"], "CYCLE_START");
  EXPECT_EQ(document[2]["s"], "g");
  // A mark of a rank has no length; times are whole microseconds and those that were given.
  std::vector<std::int64_t> times;
  for (const Json& event : document) {
    if (event.contains("ts")) times.push_back(event["ts"]);
    EXPECT_EQ(event.contains("dur"), event["ph"] == "X");
  }
  ASSERT_EQ(times.size(), 11u);
  EXPECT_EQ(times[10] - times[0], 40);
  EXPECT_EQ(times[2] - times[1], 2);
}

TEST_F(TimelineTest, NamesAreEscaped) {
  const std::vector<std::string> names = {"a \"quoted\" name", "line\nbreak",        "back\\slash",
                                          "\x01\x7f",          "gr\xc3\xbc\xc3\x9f", "\"pid\": 7, \"ts\": 9"};
  timeline_.start(path_, false);
  for (const std::string& name : names) {
    timeline_.operation_started(name, "BROADCAST", at(1));
    timeline_.activity_started(name, "with \"quotes\"", at(2));
    timeline_.operation_ended(name, "", "", at(3));
  }
  timeline_.operation_started("bad \xff byte", "BROADCAST", at(4));
  const Json document = stop_and_parse();
  for (const std::string& name : names)
    EXPECT_EQ(events_of(document, name), (std::vector<std::string>{"B BROADCAST", "B with \"quotes\"", "E", "E"}));
  EXPECT_EQ(events_of(document, "bad \xef\xbf\xbd byte").size(), 1u);
}

TEST_F(TimelineTest, CallsThatDoNotFitArePassedOver) {
  timeline_.negotiation_started("early", "ALLREDUCE", at(0));  // not started yet
  timeline_.start(path_, false);
  timeline_.rank_ready("a", 0, at(1));
  timeline_.negotiation_ended("a", at(2));
  timeline_.activity_started("a", "QUEUE", at(3));
  timeline_.activity_ended("a", at(4));
  timeline_.operation_ended("a", "float32", "[1]", at(5));
  timeline_.operation_started("a", "ALLREDUCE", at(6));
  timeline_.operation_started("a", "ALLREDUCE", at(7));
  timeline_.operation_ended("a", "", "", at(8));
  timeline_.cycle_started(at(9));
  const Json document = stop_and_parse();
  EXPECT_EQ(events_of(document, "a"), (std::vector<std::string>{"B ALLREDUCE", "E"}));
  for (const Json& event : document) EXPECT_NE(event["ph"], "i");
  EXPECT_EQ(timeline_.stop(), "");
}

TEST_F(TimelineTest, TheFileIsCompleteWhileItIsWritten) {
  timeline_.start(path_, false);
  std::size_t events = 2;
  EXPECT_EQ(Json::parse(read(path_)).size(), events);
  for (int round = 0; round < 3; ++round) {
    timeline_.operation_started("t" + std::to_string(round), "ALLREDUCE", at(round));
    events += 3;
    Json document;
    while (document.size() < events) {
      document = Json::parse(read(path_), nullptr, /*allow_exceptions=*/false);
      if (document.is_discarded()) document = Json::array();  // read in the middle of a write
      std::this_thread::yield();
    }
    EXPECT_EQ(document.size(), events);
  }
}

TEST_F(TimelineTest, MayBeStartedAgain) {
  timeline_.start(path_, false);
  timeline_.operation_started("a", "ALLREDUCE", at(1));
  const std::string other = folder_.file("other.json");
  timeline_.start(other, false);
  timeline_.operation_started("b", "ALLREDUCE", at(2));
  EXPECT_EQ(timeline_.stop(), "");
  EXPECT_EQ(Json::parse(read(path_)).size(), 5u);
  const Json document = Json::parse(read(other));
  EXPECT_EQ(events_of(document, "b"), (std::vector<std::string>{"B ALLREDUCE"}));
}

TEST_F(TimelineTest, ThreadsMayWriteTogether) {
  timeline_.start(path_, true);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        const std::string name = "t" + std::to_string(thread);
        for (int i = 0; i < 1000; ++i) {
          timeline_.operation_started(name, "ALLREDUCE", at(i));
          timeline_.cycle_started(at(i));
          timeline_.operation_ended(name, "float32", "[1]", at(i));
        }
      });
    }
  }
  const Json document = stop_and_parse();
  for (int thread = 0; thread < 4; ++thread) EXPECT_EQ(events_of(document, "t" + std::to_string(thread)).size(), 2000u);
}

TEST_F(TimelineTest, ErrorsOfTheFileAreReported) {
  try {
    timeline_.start(folder_.file("absent/timeline.json"), false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_NE(std::string(error.what()).find("absent/timeline.json: the timeline cannot be written: No such file"),
              std::string::npos)
        << error.what();
  }
  EXPECT_FALSE(timeline_.is_running());
  timeline_.operation_started("a", "ALLREDUCE", at(1));
  EXPECT_THROW(timeline_.start("/dev/full", false), Error);
}

class MergeTest : public TimelineTest {
 protected:
  /// A part with a single allreduce, from `begin` to `end` on its own clock.
  static std::string part(long long start, const std::string& name, int begin, int end) {
    return "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "
           "{\"start_time_since_epoch_in_micros\":" +
           std::to_string(start) +
           "}},\n{\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"sort_index\": 0}},\n"
           "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"" +
           json_escaped(name) + "\"}},\n{\"ph\": \"B\", \"name\": \"ALLREDUCE\", \"ts\": " + std::to_string(begin) +
           ", \"pid\": 1},\n{\"ph\": \"i\", \"name\": \"CYCLE_START\", \"ts\": " + std::to_string(begin) +
           ", \"s\": \"g\"},\n{\"ph\": \"E\", \"ts\": " + std::to_string(end) + ", \"pid\": 1}]";
  }
};

TEST_F(MergeTest, RanksAreProcessesAndClocksAreCorrected) {
  // Both begin at the same moment; the clock of rank 1 is 500 us ahead, and its file was started 200 us later.
  const std::string name = "a\", \"pid\": 7";
  const std::string first = part(1'000'000, name, 300, 310);
  const std::string second = part(1'000'700, name, 100, 120);
  const Json document = Json::parse(
      merge_timelines(std::vector<TimelinePart>{{.rank = 0, .text = first, .host = "node \"a\""},
                                                {.rank = 1, .text = second, .clock_offset = microseconds(500)}}));
  std::vector<std::pair<int, long long>> begins;
  std::vector<std::string> processes;
  std::vector<std::string> threads;
  int marks = 0;
  for (const Json& event : document) {
    if (event["ph"] == "B") {
      begins.emplace_back(event["pid"], event["ts"].get<long long>());
      EXPECT_EQ(event["tid"], 1);
    }
    if (event["ph"] == "i") {
      EXPECT_EQ(event["s"], "p");
      ++marks;
    }
    if (event.value("name", "") == "process_name") processes.push_back(event["args"]["name"]);
    if (event.value("name", "") == "thread_name") threads.push_back(event["args"]["name"]);
  }
  EXPECT_EQ(begins, (std::vector<std::pair<int, long long>>{{0, 300}, {1, 300}}));
  EXPECT_EQ(processes, (std::vector<std::string>{"rank 0 on node \"a\"", "rank 1"}));
  EXPECT_EQ(threads, (std::vector<std::string>{name, name}));
  EXPECT_EQ(marks, 2);
}

TEST_F(MergeTest, WrittenTimelinesCanBeMerged) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 3; ++rank) {
    timeline_.start(path_, true);
    timeline_.cycle_started(at(1));
    timeline_.negotiation_started("\"pid\": 9\n", "ALLREDUCE", at(1));
    timeline_.rank_ready("\"pid\": 9\n", rank, at(2));
    timeline_.negotiation_ended("\"pid\": 9\n", at(3));
    EXPECT_EQ(timeline_.stop(), "");
    texts.push_back(read(path_));
  }
  texts[2].resize(texts[2].size() - 12);  // cut off
  std::vector<TimelinePart> parts;
  for (int rank = 0; rank < 3; ++rank) parts.push_back({.rank = rank, .text = texts[static_cast<std::size_t>(rank)]});
  const Json document = Json::parse(merge_timelines(parts));
  // 2 lines for the rank, 2 for the tensor, 4 events; one is lost.
  EXPECT_EQ(document.size(), 3u * 8u - 1u);
  for (const Json& event : document) EXPECT_TRUE(event.contains("pid") && event["pid"] < 3) << event.dump();
}

TEST_F(MergeTest, OtherTextIsAnError) {
  EXPECT_EQ(Json::parse(merge_timelines({})), Json::array());
  for (const std::string text : {"", "[]", "not a timeline"}) {
    try {
      (void)merge_timelines(std::vector<TimelinePart>{{.rank = 4, .text = text}});
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 4"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tutti::horovod
