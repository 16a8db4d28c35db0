// tutti record of programs that call MPI themselves, and the replay of these records.
#include <gtest/gtest.h>

#include "profiling/mpi/mpi_session.hpp"
#include "record/event_cursor.hpp"
#include "record/record_check.hpp"
#include "record/record_reader.hpp"
#include "record/record_text.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

class RecordOfMpi : public testing::TestWithParam<MpiKit> {
 protected:
  /// Records a test program on two ranks.
  CommandResult record(const std::string& program, const std::vector<std::string>& arguments = {}) {
    const MpiKit& kit = GetParam();
    std::vector<std::string> line = {TUTTI_COMMAND, "record", "-o", file_, "--"};
    line.insert(line.end(), kit.launcher.begin(), kit.launcher.end());
    line.insert(line.end(), {"-n", "2", kit.folder + "/" + program + "_" + kit.name});
    line.insert(line.end(), arguments.begin(), arguments.end());
    return run_command(line, kit.environment, std::chrono::seconds(100));
  }
  CommandResult replay() {
    return run_command({TUTTI_COMMAND, "replay", file_, "--backend", "native", "--check", "--quiet", "--gaps", "none"},
                       {}, std::chrono::seconds(100));
  }

  TemporaryFolder folder_;
  const std::string file_ = folder_.file("job.record");
};

/// The events of a rank, a line each.
std::string events_of(const replay::JobRecord& record, int rank) {
  const replay::ReplayPlan plan = replay::check(record, 2);
  std::string text;
  for (replay::EventCursor cursor(record.sequences[plan.sequence_of[static_cast<std::size_t>(rank)]]); !cursor.at_end();
       cursor.advance()) {
    const replay::Event& event = cursor.event();
    if (event.kind == replay::EventKind::operation) {
      const replay::RecordedOperation& op = record.operations[event.value];
      text += replay::operation_text(op, op.communicator);
    } else if (event.kind == replay::EventKind::wait) {
      text += "wait " + std::to_string(event.value);
    } else {
      text += event.kind == replay::EventKind::group ? "group" : "end";
    }
    text += '\n';
  }
  return text;
}

/// The messages that rank 0 receives from any source.
std::string received() {
  const auto one = [](int tag, const std::string& more) {
    return "recv 3 int32 from=1 tag=" + std::to_string(tag) + more + "\n";
  };
  return one(10, "") + one(11, " async") + one(12, " async") + "wait 0\nwait 0\n" + one(13, " async") + "wait 0\n" +
         one(14, " async") + "wait 0\n" + one(15, " async") + "wait 0\n";
}
std::string sent() {
  std::string text;
  for (int tag = 10; tag < 16; ++tag) text += "send 3 int32 to=0 tag=" + std::to_string(tag) + "\n";
  return text;
}

std::string expected(int rank) {
  const auto of = [rank](const std::string& first, const std::string& second) { return rank == 0 ? first : second; };
  const std::string own = std::to_string(rank + 1);
  const std::string other = std::to_string(1 - rank);
  return "allreduce 10 float64 max\n"
         "allreduce 4 float32 sum in_place\n"
         "reduce 3 int32 product root=1\n"
         "reduce_scatterv " +
         of("2", "3") +
         " float32 sum in=2,3\n"
         "reduce_scatter 5 int64 bit_or\n"
         "allreduce 24 uint8 sum\n"
         "broadcast 24 uint8 root=0\n"
         "allgather 3 int64\n"
         "allgather 4 int32 in_place\n"
         "allgatherv " +
         own +
         " int32 out=1,2\n"
         "gather 6 int16 root=1\n"
         "gatherv " +
         own + " int32 root=0" + of(" out=1,2", "") +
         "\n"
         "scatter 7 uint8 root=0\n"
         "scatterv " +
         own + " int32 root=1" + of("", " in=1,2") +
         "\n"
         "alltoall 8 float32\n"
         "alltoallv int32 in=" +
         of("1x2", "2x2") +
         " out=1,2\n"
         "barrier\n" +
         of("send 9 int32 to=1 tag=5\n", "recv 9 int32 from=0 tag=5\n") +
         "group\n"
         "send 2 int32 to=" +
         other +
         " tag=1\n"
         "recv 2 int32 from=" +
         other +
         " tag=1\n"
         "end\n"
         "wait 0\n"
         "recv 4 int32 from=" +
         other +
         " tag=2 async\n"
         "send 4 int32 to=" +
         other +
         " tag=2 async\n"
         "wait 0\n"
         "wait 0\n"
         "allreduce 2 int32 min async\n"
         "wait 0\n" +
         of(received(), sent()) + "broadcast 1 int32 root=0 comm=1\n";
}

TEST_P(RecordOfMpi, has_every_call) {
  const CommandResult run = record("mpi_recorded_calls");
  ASSERT_EQ(run.code, 0) << run.output;
  EXPECT_NE(run.output.find("calls of MPI_Scan by rank 0-1 are not in the record"), std::string::npos) << run.output;
  const replay::JobRecord made = replay::load_record(file_);
  EXPECT_EQ(made.ranks, 2);
  EXPECT_EQ(made.backend, "mpi:" + GetParam().name);
  ASSERT_EQ(made.communicators.size(), 2U);
  EXPECT_EQ(made.communicators[1].ranks, (std::vector<int>{1, 0}));
  for (const int rank : {0, 1}) EXPECT_EQ(events_of(made, rank), expected(rank)) << "rank " << rank;
  const CommandResult again = replay();
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_NE(again.output.find("all results right"), std::string::npos) << again.output;
}

TEST_P(RecordOfMpi, has_waits_of_every_kind) {
  const CommandResult run = record("mpi_nonblocking", {"1"});
  ASSERT_EQ(run.code, 0) << run.output;
  const replay::JobRecord made = replay::load_record(file_);
  EXPECT_EQ(replay::check(made, 2).operations, (std::vector<std::uint64_t>{27, 27}));
  const CommandResult again = replay();
  EXPECT_EQ(again.code, 0) << again.output;
}

INSTANTIATE_TEST_SUITE_P(, RecordOfMpi, testing::ValuesIn(mpi_kits()), [](const auto& one) { return one.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecordOfMpi);

}  // namespace
}  // namespace tutti::test
