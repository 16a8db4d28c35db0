// The beginning of a record that all of its ranks share.
#include "record/record_prefix.hpp"

#include <gtest/gtest.h>

#include <string>

#include "record/event_cursor.hpp"
#include "record/record_check.hpp"
#include "record/record_printer.hpp"
#include "record/record_reader.hpp"
#include "record/record_text.hpp"
#include "tutti/error.hpp"

namespace tutti::replay {
namespace {

RecordPrefix prefix_of(const std::string& sequences, int ranks = 2, const std::string& communicators = "") {
  return common_prefix(
      read_record("tutti-record 1\nranks " + std::to_string(ranks) + "\n" + communicators + sequences, "job.record"));
}

/// The events of a rank, one after the other: "barrier; wait 1".
std::string events_of(const RecordPrefix& prefix, int rank) {
  const ReplayPlan plan = check(prefix.record, prefix.record.ranks);
  const Sequence& sequence = prefix.record.sequences[plan.sequence_of[static_cast<std::size_t>(rank)]];
  std::string text;
  for (EventCursor cursor(sequence); !cursor.at_end(); cursor.advance()) {
    const Event& event = cursor.event();
    text += text.empty() ? "" : "; ";
    if (event.kind == EventKind::operation) {
      const RecordedOperation& op = prefix.record.operations[event.value];
      text += operation_text(op, op.communicator);
    } else {
      text += event.kind == EventKind::wait ? "wait " + std::to_string(event.value) : "group";
    }
  }
  return text;
}

TEST(RecordPrefix, AWholeRecordStaysAsItIs) {
  const std::string whole = "tutti-record 1\nranks 2\nsequence 0-1\nrepeat 5\nbarrier +1,2 =3,4\nend\nbarrier\n";
  const RecordPrefix prefix = common_prefix(read_record(whole, "job.record"));
  EXPECT_EQ(to_text(prefix.record), to_text(read_record(whole, "job.record")));
  EXPECT_EQ(prefix.kept, 12U);
  EXPECT_EQ(prefix.dropped, 0U);
}

TEST(RecordPrefix, EndsWhereARankWasKilled) {
  const RecordPrefix prefix = prefix_of(
      "sequence 0\nallreduce 4 int32 sum +7\nbarrier\nbarrier\nallreduce 8 int32 sum\n"
      "sequence 1\nallreduce 4 int32 sum +9\nbarrier\n");
  for (const int rank : {0, 1}) EXPECT_EQ(events_of(prefix, rank), "allreduce 4 int32 sum; barrier");
  EXPECT_NE(to_text(prefix.record).find("+9"), std::string::npos) << "gaps are kept";
  EXPECT_EQ(prefix.kept, 4U);
  EXPECT_EQ(prefix.dropped, 2U);
  EXPECT_EQ(check(prefix.record, 2).operations, (std::vector<std::uint64_t>{2, 2}));
}

TEST(RecordPrefix, ARankThatEndsEarlyEndsThoseThatDependOnIt) {
  // Rank 2 was killed before its barrier with rank 1, which therefore never sent to rank 0, and so on.
  const RecordPrefix prefix = prefix_of(
      "sequence 0\nbarrier\nrecv 1 int8 from=1\nbroadcast 1 int8 root=0 comm=2\n"
      "sequence 1\nbarrier\nbarrier comm=1\nsend 1 int8 to=0\n"
      "sequence 2\nbarrier\n"
      "sequence 3\nbarrier\nbroadcast 1 int8 root=0 comm=2\n",
      4, "communicator 1 ranks=1-2\ncommunicator 2 ranks=0,3\n");
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(events_of(prefix, rank), "barrier");
}

TEST(RecordPrefix, PendingOperationsAreCutAsWell) {
  const RecordPrefix prefix = prefix_of(
      "sequence 0\nbarrier async\nallreduce 4 int32 sum async\nbarrier comm=1\nwait 1\nwait\n"
      "sequence 1\nbarrier async\nbarrier comm=1\nwait\n",
      2, "communicator 1 ranks=all\n");
  // The allreduce of rank 0 goes, and with it the barrier that follows it there.
  for (const int rank : {0, 1}) EXPECT_EQ(events_of(prefix, rank), "barrier async");
}

TEST(RecordPrefix, AGroupGoesAsAWhole) {
  const RecordPrefix prefix = prefix_of(
      "sequence 0\nbarrier\ngroup\n  send 1 int8 to=1\n  recv 1 int8 from=1\nend\n"
      "sequence 1\nbarrier\nrecv 1 int8 from=0\n");
  for (const int rank : {0, 1}) EXPECT_EQ(events_of(prefix, rank), "barrier");
}

TEST(RecordPrefix, ARepetitionIsCutInItsMiddle) {
  const RecordPrefix prefix =
      prefix_of("sequence 0\nrepeat 1000\n  barrier\nend\nsequence 1\nbarrier\nbarrier\nbarrier\n");
  EXPECT_EQ(prefix.kept, 6U);
  EXPECT_EQ(prefix.dropped, 997U);
  EXPECT_EQ(check(prefix.record, 2).operations, (std::vector<std::uint64_t>{3, 3}));
}

TEST(RecordPrefix, MessagesThatNobodyReceivesAreLeftOut) {
  const RecordPrefix prefix = prefix_of(
      "sequence 0\nsend 1 int8 to=1 tag=1\nsend 1 int8 to=1 tag=2\nbarrier\n"
      "sequence 1\nrecv 1 int8 from=0 tag=1\n");
  EXPECT_EQ(check(prefix.record, 2).operations, (std::vector<std::uint64_t>{1, 1}));
}

TEST(RecordPrefix, NothingInCommonIsAnError) {
  EXPECT_THROW((void)prefix_of("sequence 0\nbarrier\nsequence 1\n"), Error);
  EXPECT_NO_THROW((void)common_prefix(read_record("tutti-record 1\nranks any\nsequence all\nbarrier\n", "r")));
}

}  // namespace
}  // namespace tutti::replay
