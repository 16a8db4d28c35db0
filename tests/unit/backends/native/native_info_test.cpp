#include "tutti/info/native_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "native_api.hpp"
#include "report/move_probe.hpp"
#include "tutti/error.hpp"

namespace tutti::native {
namespace {

std::vector<NativeWay> ways_of(const NativeInfo& info, OpKind kind) {
  std::vector<NativeWay> ways;
  std::ranges::copy_if(info.ways, std::back_inserter(ways), [&](const NativeWay& way) { return way.kind == kind; });
  return ways;
}

const NativeWay& way_at(const std::vector<NativeWay>& ways, std::uint64_t bytes) {
  return *std::ranges::find_if(ways,
                               [&](const NativeWay& way) { return bytes >= way.from_bytes && bytes <= way.to_bytes; });
}

TEST(NativeInfo, CoversAllSizesOfEveryOperationOnce) {
  for (const int ranks : {2, 4, 100}) {
    const NativeInfo info = native_info(ranks);
    EXPECT_EQ(info.ranks, ranks);
    EXPECT_GT(info.ring_bytes, 0U);
    EXPECT_GT(info.past_caches_above, 0U);
    std::map<OpKind, std::uint64_t> next;
    for (const NativeWay& way : info.ways) {
      EXPECT_EQ(way.from_bytes, next.contains(way.kind) ? next[way.kind] : 8) << name(way.kind);
      EXPECT_GE(way.to_bytes, way.from_bytes);
      EXPECT_EQ(way.ordinary == "rings", way.longest_chunk > 0) << name(way.kind);
      EXPECT_LE(way.shortest_chunk, way.longest_chunk);
      next[way.kind] = 2 * way.to_bytes;
    }
    EXPECT_EQ(next.size(), 9U);
    for (const auto& [kind, end] : next) EXPECT_EQ(end, std::uint64_t{1} << 31) << name(kind);
  }
}

TEST(NativeInfo, NamesTheWaysThatTheEngineTakes) {
  const NativeInfo info = native_info(2);
  const auto allreduce = ways_of(info, OpKind::allreduce);
  EXPECT_EQ(way_at(allreduce, 4096).ordinary, "mailbox");
  EXPECT_EQ(way_at(allreduce, 8192).ordinary, "rings");
  EXPECT_EQ(way_at(allreduce, 8192).reached, "rings");
  EXPECT_EQ(way_at(allreduce, 1 << 20).ordinary, "rings");
  EXPECT_EQ(way_at(allreduce, 1 << 20).reached, "direct");
  const auto broadcast = ways_of(info, OpKind::broadcast);
  EXPECT_EQ(way_at(broadcast, 8192).ordinary, "mailbox");
  EXPECT_EQ(way_at(broadcast, 16384).ordinary, "rings");
  EXPECT_EQ(way_at(broadcast, 16384).reached, "direct");
  EXPECT_EQ(way_at(ways_of(info, OpKind::allgather), 4096).ordinary, "rings");
  EXPECT_EQ(way_at(ways_of(native_info(4), OpKind::allgather), 16384).ordinary, "mailbox");
  for (const NativeWay& way : ways_of(info, OpKind::send)) EXPECT_EQ(way.reached, "rings");
  for (const NativeWay& way : ways_of(info, OpKind::alltoall)) EXPECT_NE(way.reached, "direct");
}

TEST(NativeInfo, FollowsTheSettings) {
  (void)native_info(2);  // makes the settings known
  const NativeInfo info = native_info(2, Config().set("TUTTI_NATIVE_DIRECT", "0"));
  EXPECT_FALSE(info.direct);
  for (const NativeWay& way : info.ways) EXPECT_EQ(way.reached, way.ordinary);
  EXPECT_LT(native_info(2, Config().set("TUTTI_NATIVE_SEGMENT_BYTES", "1M")).ring_bytes, native_info(2).ring_bytes);
}

TEST(NativeInfo, RefusesARankAlone) {
  try {
    (void)native_info(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

TEST(MoveProbe, TimesBothWaysOfEveryChunkWhereThereAreTwoCores) {
  const std::vector<NativeMove> moves = probe_moves({.depth = 256, .unit = 4096}).moves;
  if (std::ranges::count_if(api::usable_cores(), [](std::uint64_t bits) { return (bits & (bits - 1)) != 0; }) == 0) {
    GTEST_SKIP() << "one core";
  }
  ASSERT_EQ(moves.size(), 3U);
  for (const NativeMove& move : moves) {
    EXPECT_GT(move.through_us, 0) << move.chunk_bytes;
    EXPECT_GT(move.past_us, 0) << move.chunk_bytes;
  }
}

TEST(MoveProbe, LeavesARingAloneThatIsTooShort) { EXPECT_TRUE(probe_moves({.depth = 16, .unit = 256}).moves.empty()); }

}  // namespace
}  // namespace tutti::native
