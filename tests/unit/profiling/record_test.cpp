// Records of a job's communication: format, parts, merger, check.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "record/event_cursor.hpp"
#include "record/rank_writer.hpp"
#include "record/record_check.hpp"
#include "record/record_merger.hpp"
#include "record/record_printer.hpp"
#include "record/record_reader.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/error.hpp"

namespace tutti::replay {
namespace {

constexpr const char* kAllOfIt = R"(tutti-record 1
ranks 4
about "a \"job\"\x0a"
backend "native"
communicator 1 ranks=0,2-3 name="odd ones"
communicator 7 ranks=all
define 1 allreduce 1024 float32 sum
define 2 alltoallv float64 in=1x2,3 out=1x2,3 comm=1
sequence 0,2-3 events=11
#1 +1.5,2,3 =40,-,41
#1 +2
repeat 3
  group async
    send 16 uint8 to=1 tag=3 comm=7
    recv 16 uint8 from=1 comm=7
  end
  wait 1 =12
end
#2 +7
#2
sequence 1 events=3
reduce_scatter 5 bfloat16 average scale=0.25 comm=7 in_place async label="a b"
wait all
barrier +1000000
)";

std::string message_of(const std::string& content) {
  try {
    (void)read_record(content, "job.record");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string head(const std::string& rest) { return "tutti-record 1\nranks 2\n" + rest; }

std::string problem_of(const std::string& content, int ranks = 0) {
  try {
    (void)check(read_record(content, "job.record"), ranks);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RecordFormat, ARecordIsPrintedAsItWasRead) {
  const JobRecord record = read_record(kAllOfIt, "job.record");
  EXPECT_EQ(to_text(record), kAllOfIt);
  ASSERT_EQ(record.sequences.size(), 2u);
  EXPECT_EQ(record.about, "a \"job\"\n");
  EXPECT_EQ(record.communicators[1].ranks, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(record.sequences[0].gap(0, 1), 2);
  EXPECT_EQ(record.sequences[0].gap(1, 2), 2);
  EXPECT_FALSE(is_known(record.sequences[0].time(0, 1)));
  const RecordedOperation& op = record.operations[record.sequences[1].events[0].value];
  EXPECT_EQ(op.label, "a b");
  EXPECT_EQ(op.prescale, 0.25);
  EXPECT_TRUE(op.async && op.in_place);
  EXPECT_EQ(record.communicators[op.communicator].number, 7u);
}

TEST(RecordFormat, UnitsCommentsAndBlankLinesAreForPeople) {
  const JobRecord record = read_record(
      "tutti-record 1\n\n# by hand\nranks any\nsequence all\n  barrier +3ms =400ns\n\tbarrier +1.5s\n", "x");
  EXPECT_EQ(record.sequences[0].gap(0, 0), 3000);
  EXPECT_NEAR(record.sequences[0].time(0, 0), 0.4, 1e-6);
  EXPECT_EQ(record.sequences[0].gap(1, 0), 1.5e6F);
}

TEST(RecordFormat, ErrorsNameFileAndLine) {
  EXPECT_NE(message_of("hello\n").find("job.record:1: the file is no record of tutti"), std::string::npos);
  EXPECT_NE(message_of("tutti-record 2\n").find("of format version 2, this tutti reads version 1"), std::string::npos);
  EXPECT_NE(message_of("").find("the file is empty"), std::string::npos);
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"sequence 0\nallsum 3 int8\n", "job.record:4: unknown operation or keyword \"allsum\""},
      {"sequence 0\nallreduce 3 int9\n", "job.record:4: unexpected word \"int9\""},
      {"sequence 0-1\nsend 3 int8 to=2\n", "rank 2 is not in the communicator of 2 ranks"},
      {"sequence 0-1\n#4\n", "operation #4 is not defined"},
      {"sequence 0-1\nbarrier comm=3\n", "communicator 3 is not described"},
      {"sequence 0-1\nallgatherv 1 int8 out=1,2,3\n", "a list has 3 counts for 2 ranks"},
      {"sequence 0-1\nallreduce 1 float32 bit_and\n", "bit_and is not defined for float32"},
      {"sequence 0-1\nrepeat 3\nbarrier\n", "is not ended"},
      {"sequence 0-1\nend\n", "\"end\" without"},
      {"sequence 0-1\ngroup\nbarrier\nwait\nend\n", "a group contains operations only"},
      {"sequence 0-1\nbarrier +nan\n", "time \"nan\""},
      {"sequence 0-1\nbarrier +1,2,3\n", "3 times are given for 2 ranks"},
      {"sequence 0-1\nallreduce 99999999999999999999 int8\n", "is not a whole number"},
      {"sequence 0-1\nallreduce 9999999999999999 int8\n", "the count is too large"},
      {"sequence 0-1\nrepeat 1000000000\nrepeat 1000\nbarrier\nend\nend\n", "more than a billion events"},
      {"sequence 0-1\nsequence 1\n", "rank 1 has a second sequence"},
      {"sequence 0\nbarrier\n", "rank 1 has no sequence"},
      {"sequence 0-1 events=5\nbarrier\n", "has 1 of its 5 events: the file is cut off"},
      {"communicator 1 ranks=0\nsequence 0-1\nbarrier comm=1\n", "rank 1 is not a member of communicator 1"},
      {"barrier\n", "an event stands before the first sequence"},
      {"sequence 0-1\nbarrier label=\"x\n", "a quote is not closed"},
  };
  for (const auto& [content, expected] : rows)
    EXPECT_NE(message_of(head(content)).find(expected), std::string::npos) << content << message_of(head(content));
}

TEST(EventCursor, RepetitionsHappen) {
  const JobRecord record = read_record(
      "tutti-record 1\nranks any\nsequence all\nrepeat 2\nbarrier +1\nrepeat 0\nbarrier +2\nend\nrepeat 3\nbarrier "
      "+3\nend\nrepeat 5\nend\nend\nbarrier +4\n",
      "x");
  std::string seen;
  for (EventCursor cursor(record.sequences[0]); !cursor.at_end(); cursor.advance())
    seen += std::to_string(static_cast<int>(record.sequences[0].gap(cursor.index(), 0)));
  EXPECT_EQ(seen, "133313334");
}

TEST(RecordCheck, RanksThatFitEachOtherPass) {
  EXPECT_EQ(
      problem_of(head("sequence 0\nsend 3 int8 to=1\nrecv 4 int8 from=1\nsequence 1\nrecv 3 int8 from=0\nsend 4 int8 "
                      "to=0\n")),
      "");
  EXPECT_EQ(
      problem_of("tutti-record 1\nranks any\nsequence all\nrepeat 3\nallreduce 3 int8 sum async\nend\nwait 1\n", 3),
      "");
  const ReplayPlan plan = check(read_record(head("sequence 0-1\nallreduce 3 int16 sum async +2\nallgather 3 int16 "
                                                 "async +1,5\nwait 1\nwait\nallreduce 1 int8\n"),
                                            "x"),
                                2);
  EXPECT_EQ(plan.peak_bytes, (std::vector<std::uint64_t>{12 + 18, 12 + 18}));
  EXPECT_EQ(plan.operations, (std::vector<std::uint64_t>{3, 3}));
  EXPECT_EQ(plan.gap_us, (std::vector<double>{3, 7}));
}

TEST(RecordCheck, RanksThatWouldHangAreNamed) {
  const auto two = [](const std::string& first, const std::string& second) {
    return problem_of(head("sequence 0\n" + first + "sequence 1\n" + second));
  };
  EXPECT_NE(two("barrier\nbarrier\n", "barrier\n").find("rank 0 would wait for ever in barrier: rank 1 never calls it"),
            std::string::npos);
  EXPECT_NE(two("recv 1 int8 from=1\n", "").find("rank 1 never sends that message"), std::string::npos);
  EXPECT_NE(two("send 1 int8 to=1\nsend 1 int8 to=1\n", "recv 1 int8 from=0\n")
                .find("1 messages of rank 0 to rank 1 are never received"),
            std::string::npos);
  EXPECT_NE(two("send 1 int8 to=1\n", "recv 2 int8 from=0\n").find("rank 1 calls recv 2 int8 from=0"),
            std::string::npos);
  EXPECT_NE(two("allreduce 1 int8\n", "allreduce 2 int8\n").find("differs in its count"), std::string::npos);
  EXPECT_NE(two("allreduce 1 int8\n", "barrier\n").find("differs in its operation"), std::string::npos);
  EXPECT_NE(two("gatherv 1 int8 out=1,2\n", "gatherv 1 int8\n").find("do not fit"), std::string::npos);
  EXPECT_NE(two("wait\n", "").find("waits for pending operation 0, but has 0"), std::string::npos);
  EXPECT_NE(problem_of(head("sequence 0-1\nbarrier\n"), 3).find("is of 2 ranks and cannot be replayed on 3"),
            std::string::npos);
}

/// The part that a rank of a hand-written program leaves, and the record of both ranks.
void write_part(const std::string& folder, int rank, std::uint64_t late_ns) {
  RankWriter writer(folder, rank, 2);
  writer.add_communicator({.number = 5, .name = "world", .ranks = {}, .key = 0xabc, .rank = rank, .size = 2});
  writer.add_communicator({.number = 6, .name = "turned", .ranks = {}, .key = 0xdef, .rank = 1 - rank, .size = 2});
  const SeenOperation sum{.kind = OpKind::allreduce, .type = DataType::float32, .communicator = 5, .count = 8};
  SeenOperation later = sum;
  later.async = true;
  later.label = "grad";
  writer.begin(sum, 1, 0, 1'000'000);
  writer.end(1, 1'040'000);
  writer.begin(later, 2, 0, 1'050'000 + late_ns);
  writer.begin(later, 3, 0, 1'050'000 + late_ns);
  writer.begin({.kind = OpKind::send, .communicator = 6, .root = rank, .count = 3}, 4, 9, 1'060'000 + late_ns);
  writer.begin({.kind = OpKind::recv, .communicator = 6, .root = rank, .count = 3}, 5, 9, 1'060'000 + late_ns);
  writer.begin_wait(3, 1'070'000 + late_ns);
  writer.end(3, 1'090'000 + late_ns);
  writer.end(4, 1'100'000 + late_ns);
  writer.end(5, 1'100'500 + late_ns);
  writer.end(2, 1'110'000 + late_ns);
  writer.begin(sum, 6, 0, 1'120'000 + late_ns);
  writer.end(6, 1'121'000 + late_ns);
}

TEST(RecordMerger, PartsOfAllRanksMakeTheRecord) {
  const test::TemporaryFolder folder;
  write_part(folder.path().string(), 0, 0);
  write_part(folder.path().string(), 1, 5'000);
  const MergedRecord merged = merge_folder(folder.path().string());
  EXPECT_TRUE(merged.warnings.empty()) << merged.warnings.front();
  // The peer is another one for each rank, and so the sequences are.
  EXPECT_EQ(to_text(merged.record), R"(tutti-record 1
ranks 2
communicator 0 ranks=all name="world"
communicator 1 ranks=1,0 name="turned"
define 1 allreduce 8 float32 sum
define 2 allreduce 8 float32 sum async label="grad"
sequence 0 events=11
#1 =40
#2 +10
#2
group async +10
  send 3 uint8 to=0 comm=1
  recv 3 uint8 from=0 comm=1
end
wait 1 +10 =20
wait 1 +10.5 =0
wait +9.5 =0
#1 +10 =1
sequence 1 events=11
#1 =40
#2 +15
#2
group async +10
  send 3 uint8 to=1 comm=1
  recv 3 uint8 from=1 comm=1
end
wait 1 +10 =20
wait 1 +10.5 =0
wait +9.5 =0
#1 +10 =1
)");
}

TEST(RecordMerger, EqualSequencesAreStoredOnce) {
  const test::TemporaryFolder folder;
  for (int rank = 0; rank < 3; ++rank) {
    RankWriter writer(folder.path().string(), rank, 3);
    writer.add_communicator({.number = 1, .name = "world", .ranks = {}, .key = 1, .rank = rank, .size = 3});
    writer.begin({.communicator = 1}, 1, 0, 1'000'000);
    writer.end(1, 1'000'000 + 1000 * static_cast<std::uint64_t>(rank));
  }
  EXPECT_EQ(
      to_text(merge_folder(folder.path().string()).record),
      "tutti-record 1\nranks 3\ncommunicator 0 ranks=all name=\"world\"\nsequence 0-2 events=1\nbarrier =0,1,2\n");
}

TEST(RecordMerger, AKilledRankLeavesWhatItDid) {
  const test::TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    RankWriter writer(folder.path().string(), 0, 2);
    writer.add_communicator({.number = 1, .name = "world", .ranks = {}, .key = 1, .rank = 0, .size = 2});
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      writer.begin({.communicator = 1}, i, 0, i * 1000);
      if (i < 1000) writer.end(i, i * 1000 + 500);
    }
    std::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const MergedRecord merged = merge_folder(folder.path().string());
  ASSERT_EQ(merged.warnings.size(), 2u);
  EXPECT_NE(merged.warnings[0].find("rank 0 did not end in order"), std::string::npos);
  EXPECT_NE(merged.warnings[1].find("rank 1 left no part"), std::string::npos);
  const Sequence& sequence = merged.record.sequences.front();
  ASSERT_EQ(sequence.events.size(), 1000u);
  EXPECT_TRUE(is_known(sequence.time(998, 0)));
  EXPECT_FALSE(is_known(sequence.time(999, 0)));
}

TEST(RankWriter, AForkedChildWritesNothing) {
  const test::TemporaryFolder folder;
  {
    RankWriter writer(folder.path().string(), 0, 1);
    writer.add_communicator({.number = 1, .name = "world", .ranks = {}, .key = 1, .rank = 0, .size = 1});
    const pid_t child = fork();
    if (child == 0) {
      writer.begin({.communicator = 1}, 1, 0, 1000);
      writer.finish();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    writer.begin({.communicator = 1}, 2, 0, 2000);
    writer.end(2, 3000);
  }
  const MergedRecord merged = merge_folder(folder.path().string());
  EXPECT_TRUE(merged.warnings.empty());
  EXPECT_EQ(merged.record.sequences.front().events.size(), 1u);
}

TEST(RankWriter, AMillionCallsFitInTwentyMegabytesAndALimitEndsTheRecord) {
  const test::TemporaryFolder folder;
  std::size_t bytes = 0;
  {
    RankWriter writer(folder.path().string(), 0, 1);
    writer.add_communicator({.number = 1, .name = "world", .ranks = {}, .key = 1, .rank = 0, .size = 1});
    for (std::uint64_t i = 1; i <= 100'000; ++i) {
      // Gaps and times of a millisecond: lines longer than those of most jobs.
      writer.begin({.kind = OpKind::allreduce, .communicator = 1, .count = i % 100}, i, 0, i * 2'345'678);
      writer.end(i, i * 2'345'678 + 1'234'567);
    }
  }
  const std::string path = folder.path().string() + "/rank-0-" + std::to_string(getpid()) + ".part";
  bytes = read_file(path).size();
  EXPECT_LT(bytes, 2'200'000u);
  unlink(path.c_str());
  {
    RankWriter writer(folder.path().string(), 0, 1, 70'000);
    writer.add_communicator({.number = 1, .name = "world", .ranks = {}, .key = 1, .rank = 0, .size = 1});
    for (std::uint64_t i = 1; i <= 100'000; ++i) writer.begin({.communicator = 1}, i, 0, i * 1000);
  }
  const RecordPart part = load_part(path);
  EXPECT_TRUE(part.is_cut_off);
  EXPECT_EQ(part.problem, "the limit of a rank's record was reached");
  EXPECT_GT(part.record.sequences.front().events.size(), 1000u);
}

}  // namespace
}  // namespace tutti::replay
