// Receives of parts: their senders, counts and types.
#include "record/receive_matcher.hpp"

#include <gtest/gtest.h>

#include <string>

#include "record/rank_writer.hpp"
#include "record/record_merger.hpp"
#include "record/record_text.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/error.hpp"

namespace tutti::replay {
namespace {

/// A part of rank 0 of 2, or of another one.
RecordPart part_of(const std::string& events, int rank = 0) {
  return read_part("tutti-record 1\npart rank=" + std::to_string(rank) +
                       " of=2\ncommunicator 1 key=a rank=" + std::to_string(rank) + " size=2 name=\"\"\n" + events,
                   "part");
}

std::string operations_of(const RecordPart& part) {
  std::string text;
  for (const Event& event : part.record.sequences.front().events) {
    if (event.kind == EventKind::operation) text += operation_text(part.record.operations[event.value], 0) + "; ";
  }
  return text;
}

TEST(ReceiveMatcher, ReceivesFromAnyRankGetTheirSenders) {
  RecordPart part = part_of(
      "define 1 recv 8 int32 from=any tag=any comm=1\n#1\nmet 0 from=1 tag=7\n#1\nrecv 8 int32 from=1 tag=any comm=1\n"
      "met 2 from=1 tag=4\nmet 1 from=0 tag=0\nfinished\n");
  resolve_receives(part);
  EXPECT_EQ(operations_of(part), "recv 8 int32 from=1 tag=7; recv 8 int32 from=0; recv 8 int32 from=1 tag=4; ");
  EXPECT_FALSE(part.is_cut_off);
}

TEST(ReceiveMatcher, APartEndsBeforeAReceiveWhoseSenderIsUnknown) {
  RecordPart part = part_of(
      "barrier comm=1\ngroup\n  send 1 int8 to=1 comm=1\n  recv 8 int32 from=any comm=1\nend\nbarrier "
      "comm=1\nfinished\n");
  resolve_receives(part);
  EXPECT_EQ(operations_of(part), "barrier; ");
  EXPECT_TRUE(part.is_cut_off);
  EXPECT_EQ(part.record.sequences.front().gaps.size(), part.record.sequences.front().events.size());
}

TEST(ReceiveMatcher, ReceivesHaveTheCountAndTypeOfTheirMessages) {
  std::vector<RecordPart> parts;
  parts.push_back(
      part_of("send 3 int32 to=1 comm=1\nsend 5 float64 to=1 comm=1\nsend 1 int8 to=1 tag=2 comm=1\nfinished\n"));
  parts.push_back(
      part_of("define 1 recv 100 uint8 from=0 comm=1\n#1\nrecv 1 int8 from=0 tag=2 comm=1\n#1\n#1\nfinished\n", 1));
  match_receives(parts);
  // The last one has no message: it stays as it is.
  EXPECT_EQ(operations_of(parts[1]),
            "recv 3 int32 from=0; recv 1 int8 from=0 tag=2; recv 5 float64 from=0; recv 100 uint8 from=0; ");
}

TEST(ReceiveMatcher, AWholeRecordHasNoReceiveFromAnyRank) {
  const std::string head = "tutti-record 1\nranks 2\nsequence 0-1\n";
  EXPECT_THROW((void)read_record(head + "recv 1 int8 from=any\n", "r"), Error);
  EXPECT_THROW((void)read_record(head + "recv 1 int8 from=0 tag=any\n", "r"), Error);
  EXPECT_THROW((void)part_of("send 1 int8 to=any comm=1\n"), Error);
  EXPECT_THROW((void)part_of("met x from=1\n"), Error);
}

TEST(ReceiveMatcher, PartsOfMpiCountWhereTuttiLeftNone) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& source, OpKind kind) {
    RankWriter writer(folder.path(), 0, 1, RankWriter::kDefaultLimit, source);
    writer.add_communicator({.number = 1, .name = "", .ranks = {}, .key = 9, .rank = 0, .size = 1});
    SeenOperation seen;
    seen.kind = kind;
    seen.communicator = 1;
    writer.begin(seen, 1, 0, 1000);
    writer.end(1, 2000);
    writer.leave_out("MPI_Scan");
    writer.leave_out("MPI_Scan");
  };
  write(kMpiParts, OpKind::barrier);
  MergedRecord merged = merge_folder(folder.path());
  ASSERT_EQ(merged.record.operations.size(), 1U);
  EXPECT_EQ(merged.record.operations[0].kind, OpKind::barrier);
  ASSERT_EQ(merged.warnings.size(), 1U);
  EXPECT_NE(merged.warnings[0].find("MPI_Scan by rank 0"), std::string::npos) << merged.warnings[0];
  write("", OpKind::allreduce);
  merged = merge_folder(folder.path());
  ASSERT_EQ(merged.record.operations.size(), 1U);
  EXPECT_EQ(merged.record.operations[0].kind, OpKind::allreduce);
}

}  // namespace
}  // namespace tutti::replay
