// Random programs on ranks that are threads: recorded, they give the record that they were made from.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "record/observer/record_observer.hpp"
#include "record/record_check.hpp"
#include "record/record_merger.hpp"
#include "record/record_reader.hpp"
#include "record/record_text.hpp"
#include "replay/replay_player.hpp"
#include "support/rank_threads.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::tools {
namespace {

constexpr int kRanks = 3;

/// Writes a program for all ranks as the text of a record.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    for (int step = 0; step < 60; ++step) add_step();
    for (int rank = 0; rank < kRanks; ++rank) {
      while (pending_[static_cast<std::size_t>(rank)] > 0) wait(rank);
    }
  }

  [[nodiscard]] std::string text() const {
    std::string text =
        "tutti-record 1\nranks 3\ncommunicator 0 name=world\ncommunicator 1 ranks=2,0 name=\"two of them\"\n"
        "communicator 2 ranks=all name=copy\n";
    for (int rank = 0; rank < kRanks; ++rank)
      text += "sequence " + std::to_string(rank) + '\n' + lines_[static_cast<std::size_t>(rank)];
    return text;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  void add(int rank, const std::string& line) { lines_[static_cast<std::size_t>(rank)] += line + '\n'; }
  void wait(int rank) {
    const int last = pending_[static_cast<std::size_t>(rank)]-- - 1;
    const int which = pick(last + 1);
    add(rank, which == 0 ? std::string("wait") : "wait " + std::to_string(which));
  }

  /// Operations are pending on one communicator at a time: without a progress thread they go on only while the rank
  /// waits for something on theirs.
  void turn_to(int rank, int communicator) {
    const auto at = static_cast<std::size_t>(rank);
    while (pending_[at] > 0 && pending_on_[at] != communicator) wait(rank);
    pending_on_[at] = communicator;
  }

  void add_step() {
    const int kind = pick(10);
    if (kind == 0) {
      add_ring();
    } else if (kind == 1) {
      const int from = pick(kRanks);
      const int to = (from + 1) % kRanks;
      turn_to(from, 2);
      turn_to(to, 2);
      add(from, "send 5 int16 to=" + std::to_string(to) + " comm=2");
      add(to, "recv 5 int16 from=" + std::to_string(from) + " comm=2");
    } else if (kind == 2) {
      const int rank = pick(kRanks);
      if (pending_[static_cast<std::size_t>(rank)] > 0) wait(rank);
    } else {
      add_collective();
    }
  }

  void add_ring() {
    for (int rank = 0; rank < kRanks; ++rank) {
      turn_to(rank, 0);
      const std::string next = std::to_string((rank + 1) % kRanks);
      const std::string before = std::to_string((rank + kRanks - 1) % kRanks);
      add(rank, "group async\nsend 70 float64 to=" + next + "\nrecv 70 float64 from=" + before + "\nend");
      add(rank, "wait " + std::to_string(pending_[static_cast<std::size_t>(rank)]));
    }
  }

  void add_collective() {
    const int communicator = pick(3);
    const int size = communicator == 1 ? 2 : kRanks;
    const std::string count = std::to_string(pick(3) == 0 ? 40000 + pick(9) : pick(40));
    const std::string root = " root=" + std::to_string(pick(size));
    const bool async = pick(3) == 0;
    const int op = pick(14);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (communicator == 1 && rank == 1) continue;
      turn_to(rank, communicator);
      const int member = communicator == 1 ? (rank == 2 ? 0 : 1) : rank;
      const std::string list = size == 2 ? "3,9" : "3,9,0";
      const std::string own = member == 0 ? "3" : member == 1 ? "9" : "0";
      const std::vector<std::string> forms = {"allreduce " + count + " float32 sum",
                                              "allreduce " + count + " int32 max in_place",
                                              "allreduce " + count + " bfloat16 average label=\"a \\\"b\\\"\"",
                                              "allgather " + count + " uint8",
                                              "allgatherv " + own + " int64 out=" + list,
                                              "reduce_scatter " + count + " float64 product",
                                              "reduce_scatterv " + own + " int32 sum in_place in=" + list,
                                              "allreduce " + count + " float8_e4m3 sum",
                                              "broadcast " + count + " float16" + root,
                                              "reduce " + count + " int8 bit_xor" + root,
                                              "gather " + count + " uint32" + root,
                                              "scatter " + count + " int16" + root,
                                              "alltoall " + count + " float32",
                                              "barrier"};
      add(rank, forms[static_cast<std::size_t>(op)] +
                    (communicator == 0 ? "" : " comm=" + std::to_string(communicator)) + (async ? " async" : ""));
      if (async) ++pending_[static_cast<std::size_t>(rank)];
    }
  }

  std::mt19937 random_;
  std::vector<std::string> lines_ = std::vector<std::string>(kRanks);
  std::vector<int> pending_ = std::vector<int>(kRanks);
  std::vector<int> pending_on_ = std::vector<int>(kRanks);
};

/// The operations of a rank, without times.
std::vector<std::string> deeds(const replay::JobRecord& record, int rank) {
  std::vector<std::string> deeds;
  const replay::ReplayPlan plan = replay::check(record, 0);
  for (const replay::Event& event : record.sequences[plan.sequence_of[static_cast<std::size_t>(rank)]].events) {
    if (event.kind == replay::EventKind::operation) {
      const replay::RecordedOperation& op = record.operations[event.value];
      deeds.push_back(replay::operation_text(op, op.communicator));
    } else {
      deeds.push_back("event " + std::to_string(static_cast<int>(event.kind)) + ' ' + std::to_string(event.value) +
                      (event.async ? " async" : ""));
    }
  }
  return deeds;
}

/// Plays a record on threads, with all results checked, and records that.
replay::JobRecord recorded_again(const replay::JobRecord& record) {
  const test::TemporaryFolder folder;
  replay::RecordObserver observer(folder.path().string());
  {
    const ObserverHandle handle = add_observer(observer);
    const replay::ReplayPlan plan = replay::check(record, 0);
    const ReplayRows rows = rows_of(record, record.ranks);
    const auto body = [&](const Communicator& comm) {
      ReplayPlayer player(record, plan, rows, comm);
      (void)player.play({.gap_factor = 0, .checks = true, .counts_calls = true, .sign = [](ReplayPlayer::Time) {}});
    };
    TUTTI_EXPECT_RANKS(record.ranks, body);
  }
  observer.finish();
  replay::MergedRecord merged = replay::merge_folder(folder.path().string());
  EXPECT_TRUE(merged.warnings.empty());
  return std::move(merged.record);
}

TEST(Replay, ARandomProgramIsRecordedAsItWasWritten) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const std::string text = RandomProgram(seed).text();
    const replay::JobRecord written = replay::read_record(text, "random");
    const replay::JobRecord first = recorded_again(written);
    const replay::JobRecord second = recorded_again(first);
    ASSERT_EQ(first.communicators.size(), written.communicators.size());
    for (std::size_t i = 0; i < written.communicators.size(); ++i)
      EXPECT_EQ(first.communicators[i], written.communicators[i]);
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<std::string> expected = deeds(written, rank);
      // A replay begins with a barrier of its own.
      expected.insert(expected.begin(), "barrier");
      EXPECT_EQ(deeds(first, rank), expected) << "seed " << seed << ", rank " << rank << '\n' << text;
      expected.insert(expected.begin(), "barrier");
      EXPECT_EQ(deeds(second, rank), expected) << "seed " << seed << ", rank " << rank;
    }
  }
}

TEST(ReplayRows, TimesOfTheRecordAreSummedByOperationAndSize) {
  const replay::JobRecord record = replay::read_record(
      "tutti-record 1\nranks 2\nsequence 0-1\nallreduce 4 float32 sum =10,20\nallreduce 2 float64 sum =1\nallreduce 8 "
      "int8 max\nallgather 4 int32 async\nallgather 4 int32 async\nwait all =8\n",
      "x");
  const ReplayRows rows = rows_of(record, 2);
  EXPECT_EQ(rows.rows,
            (std::vector<ReplayRow>{{OpKind::allreduce, 8}, {OpKind::allreduce, 16}, {OpKind::allgather, 32}}));
  const RecordedTotals totals = recorded_totals(record, rows, 2);
  EXPECT_EQ(totals.unknown, (std::vector<std::uint64_t>{2, 0, 0}));
  EXPECT_EQ(totals.rows[1].calls, 4u);
  EXPECT_EQ(totals.rows[1].time_us, 32);
  EXPECT_EQ(totals.rows[2].calls, 4u);
  EXPECT_EQ(totals.rows[2].time_us, 16);
}

}  // namespace
}  // namespace tutti::tools
