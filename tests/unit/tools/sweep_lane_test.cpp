#include "sweep/rank/sweep_lane.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/rank_threads.hpp"
#include "sweep/rank/counted_calls.hpp"
#include "sweep/rank/sweep_team.hpp"
#include "tutti/tutti.hpp"

namespace tutti::tools {
namespace {

using test::run_ranks;

std::vector<SweepCell> all_cells(bool in_place) {
  std::vector<SweepCell> cells;
  for (const OpTraits& row : kOpTraits) {
    if (in_place ? allows_in_place(row.kind) : is_sweepable(row.kind)) cells.push_back({row.kind, 3000, in_place});
  }
  return cells;
}

class SweepLanes : public testing::TestWithParam<bool> {};

TEST_P(SweepLanes, ResultsAreCheckedForEveryOperation) {
  const std::vector<SweepCell> cells = all_cells(GetParam());
  EXPECT_EQ(cells.size(), GetParam() ? 11U : 13U);
  TUTTI_EXPECT_RANKS(3, [&](const Communicator& comm) {
    SweepLane lane(comm, Device(), cells, DataType::int32);
    for (const SweepCell& cell : cells) {
      const CellShape shape(cell, DataType::int32, comm.size());
      const bool has = has_result(shape, comm.rank());
      lane.fill(shape, 7);
      // In place the root of a broadcast, and every rank's own block, need no call to be right.
      if (!cell.in_place) {
        EXPECT_EQ(lane.check(shape).empty(), !has) << to_text(cell) << ": nothing has been written yet";
      }
      lane.call(shape).wait();
      EXPECT_EQ(lane.check(shape), "") << to_text(cell);
      EXPECT_EQ(lane.check_probes(shape), "") << to_text(cell);
      lane.clear_probes(shape);
      EXPECT_EQ(lane.check_probes(shape).empty(), !has) << to_text(cell);
      lane.fill(shape, 8);
      lane.call(shape).wait();
      EXPECT_EQ(lane.check(shape), "") << to_text(cell);
      lane.spoil(shape);
      EXPECT_EQ(lane.check(shape).empty(), !has) << to_text(cell);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Places, SweepLanes, testing::Bool());

TEST(SweepLanesInPlace, HoldTheInputInTheOutput) {
  const CellShape gather({OpKind::allgather, 3000, true}, DataType::int32, 3);
  EXPECT_EQ(gather.input_offset(2), 2 * gather.count);
  EXPECT_EQ(gather.output_offset(2), 0U);
  EXPECT_EQ(gather.memory_bytes(), std::uint64_t{2} * 3 * 3000);
  const CellShape scatter({OpKind::reduce_scatter, 3000, true}, DataType::int32, 3);
  EXPECT_EQ(scatter.input_offset(2), 0U);
  EXPECT_EQ(scatter.output_offset(2), 2 * scatter.count);
  const CellShape apart({OpKind::allgather, 3000, false}, DataType::int32, 3);
  EXPECT_EQ(apart.input_offset(2), 0U);
}

TEST(SweepLanesInPlace, ZeroIsNotChangedByCalls) {
  TUTTI_EXPECT_RANKS(2, [&](const Communicator& comm) {
    const std::vector<SweepCell> cells = {{OpKind::allreduce, 400, true}};
    SweepLane lane(comm, Device(), cells, DataType::int8);
    const CellShape shape(cells[0], DataType::int8, 2);
    lane.fill(shape, 1);
    lane.zero(shape);
    for (int i = 0; i < 20; ++i) lane.call(shape).wait();
    EXPECT_NE(lane.check(shape), "") << "these are not the sums";
    lane.fill(shape, 1);
    lane.call(shape).wait();
    EXPECT_EQ(lane.check(shape), "");
  });
}

std::vector<std::unique_ptr<SweepLane>> make_lanes(const Communicator& comm, std::span<const SweepCell> cells,
                                                   int count) {
  std::vector<std::unique_ptr<SweepLane>> lanes;
  for (int i = 0; i < count; ++i)
    lanes.push_back(std::make_unique<SweepLane>(i == 0 ? comm : comm.duplicate(), Device(), cells, DataType::float32));
  return lanes;
}

TEST(SweepTeams, LanesWorkAtOnceOnNumbersOfTheirOwn) {
  const std::vector<SweepCell> cells = {{OpKind::allreduce, 4096}};
  TUTTI_EXPECT_RANKS(2, [&](const Communicator& comm) {
    SweepTeam team(make_lanes(comm, cells, 3));
    const CellShape shape(cells[0], DataType::float32, 2);
    std::uint32_t seed = 5;
    for (const auto& lane : team.lanes()) lane->fill(shape, seed++);
    for (int i = 0; i < 10; ++i) EXPECT_GT(team.timed_call(shape), 0);
    const auto check = [&](const SweepLane& lane) { return lane.check(shape); };
    EXPECT_EQ(team.first_problem(check), "");
    team.lanes().back()->spoil(shape);
    EXPECT_NE(team.first_problem(check), "");
  });
}

TEST(SweepTeams, FailureOfALaneEndsAll) {
  const std::vector<SweepCell> cells = {{OpKind::allreduce, 4096}};
  const auto errors = run_ranks(2, [&](const Communicator& comm) {
    SweepTeam team(make_lanes(comm, cells, 2));
    const CellShape shape(cells[0], DataType::float32, 2);
    for (const auto& lane : team.lanes()) lane->fill(shape, 1);
    if (comm.rank() == 1) team.lanes().back()->comm().abort();
    (void)team.timed_call(shape);
  });
  EXPECT_EQ(errors.size(), 2U) << describe(errors);
}

class Counting : public testing::Test {
 protected:
  void issue(OperationId id, OpKind kind, std::string_view backend, std::uint64_t begin, std::uint64_t end) {
    Operation operation;
    operation.kind = kind;
    counted_.on(OpIssued{id, operation, 1, 0, 2, backend, false, begin});
    counted_.on(OpCompleted{id, ErrorCode::ok, end});
  }
  CountedCalls counted_{OpKind::allreduce};
};

TEST_F(Counting, OnlyRecordsOfTheOperationsAreCounted) {
  issue(1, OpKind::allreduce, "mpi:openmpi", 0, 9000);
  issue(2, OpKind::barrier, "mpi:openmpi", 9000, 9500);
  for (const OperationId cause : {0U, 1U, 2U}) {
    counted_.on(HostCall{cause, "MPI", "MPI_Allreduce", 0, 1000, 3500});
    counted_.on(Traffic{cause, "sycl", 64, {}, {}});
    counted_.on(DeviceInterval{cause, "copy", {}, 100, 1100});
  }
  const CellCounts counts = counted_.counts();
  EXPECT_EQ(counts.calls, 1U);
  EXPECT_EQ(counts.host_calls, 1U);
  EXPECT_DOUBLE_EQ(counts.host_time_us, 2.5);
  EXPECT_EQ(counts.traffic_calls, 1U);
  EXPECT_EQ(counts.traffic_bytes, 64U);
  EXPECT_EQ(counts.device_calls, 1U);
  EXPECT_DOUBLE_EQ(counts.device_time_us, 1);
  EXPECT_EQ(counted_.served_by(), "mpi:openmpi");
}

TEST_F(Counting, OperationOfTheNativeEngineIsACall) {
  issue(1, OpKind::allreduce, "native", 0, 9000);
  counted_.on(HostCall{1, "sycl", "memcpy", 0, 1000, 3000});
  EXPECT_EQ(counted_.counts().host_calls, 2U);
  EXPECT_DOUBLE_EQ(counted_.counts().host_time_us, 9) << "2 us in the device runtime, 7 us in the engine";
}

TEST_F(Counting, PeakIsTheMostAtOnce) {
  issue(1, OpKind::allreduce, "native", 0, 1);
  std::array<std::byte, 3> memory{};
  const auto allocate = [&](std::size_t i, OperationId cause, std::uint64_t bytes) {
    counted_.on(Allocation{cause, "x", &memory[i], bytes, {}, 0});
  };
  allocate(0, 1, 100);
  allocate(1, 1, 50);
  counted_.on(Free{1, "x", memory.data(), 100, {}, 0});
  allocate(0, 1, 80);
  allocate(2, 0, 1000);
  counted_.on(Free{1, "x", &memory[2], 1000, {}, 0});
  const CellCounts counts = counted_.counts();
  EXPECT_EQ(counts.alloc_calls, 3U);
  EXPECT_EQ(counts.alloc_bytes, 230U);
  EXPECT_EQ(counts.peak_bytes, 150U);
}

TEST_F(Counting, TextAndBack) {
  const CellCounts counts{.calls = 3,
                          .host_calls = 4,
                          .host_time_us = 1.5,
                          .device_calls = 5,
                          .device_time_us = 2.5,
                          .traffic_calls = 6,
                          .traffic_bytes = 1ULL << 40,
                          .alloc_calls = 7,
                          .alloc_bytes = 8,
                          .peak_bytes = 9};
  const auto read = counts_from(to_text(counts));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(counts));
  EXPECT_EQ(read->traffic_bytes, 1ULL << 40);
  for (const char* text : {"", "1 2 3", "1 2 3 4 5 6 7 8 9 10 11", "a b c d e f g h i j"})
    EXPECT_FALSE(counts_from(text)) << text;
}

}  // namespace
}  // namespace tutti::tools
