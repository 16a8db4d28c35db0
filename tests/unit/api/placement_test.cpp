#include "tutti/placement.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "support/rank_threads.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::test {
namespace {

// The library searches device modules only once, so the path of the fake must be set before the first test.
const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

/// Invented cards, spread evenly over the NUMA nodes.
std::vector<DeviceInfo> cards(int count, int tiles, bool is_gpu = true, int nodes = 2) {
  std::vector<DeviceInfo> devices;
  for (int card = 0; card < count; ++card) {
    DeviceInfo info;
    info.device = Device(7, static_cast<std::int16_t>(card));
    info.numa_node = nodes > 0 ? card * nodes / count : -1;
    info.sub_devices = tiles;
    info.is_gpu = is_gpu;
    devices.push_back(info);
    for (int tile = 0; tile < tiles; ++tile) {
      DeviceInfo part = info;
      part.device = Device(7, static_cast<std::int16_t>(card), static_cast<std::int16_t>(tile));
      part.sub_devices = 0;
      part.numa_node = -1;
      devices.push_back(part);
    }
  }
  return devices;
}

/// The devices of the ranks in order, as "0.1 1.0 ...".
std::string places(const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement& one : placements) {
    text += (text.empty() ? "" : " ") + std::to_string(one.device.index());
    if (one.device.sub_device() >= 0) text += "." + std::to_string(one.device.sub_device());
  }
  return text;
}

std::vector<int> unbound(int ranks) { return std::vector<int>(static_cast<std::size_t>(ranks), -1); }

/// The first half of the ranks on node 0, the others on node 1.
std::vector<int> bound(int ranks) {
  std::vector<int> nodes = unbound(ranks);
  for (int rank = 0; rank < ranks; ++rank) nodes[static_cast<std::size_t>(rank)] = rank * 2 / ranks;
  return nodes;
}

TEST(Placement, SubDevicesComeBeforeCardsAndGpusBeforeOthers) {
  EXPECT_EQ(placeable(cards(1, 2)).size(), 2u);
  EXPECT_EQ(placeable(cards(3, 0)).size(), 3u);
  EXPECT_TRUE(placeable({}).empty());
  std::vector<DeviceInfo> mixed = cards(1, 2, false);
  for (DeviceInfo gpu : cards(1, 0)) {
    gpu.device = Device(7, 1);
    mixed.push_back(gpu);
  }
  const std::vector<DeviceInfo> leaves = placeable(mixed);
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0].device, Device(7, 1));
  mixed.pop_back();
  EXPECT_EQ(placeable(mixed).size(), 2u) << "without a GPU, the sub-devices of the CPU are placeable";
}

TEST(Placement, PartsAreOnTheNodeOfTheirCard) {
  const std::vector<DeviceInfo> leaves = placeable(cards(2, 2));
  ASSERT_EQ(leaves.size(), 4u);
  EXPECT_EQ(leaves[1].numa_node, 0);
  EXPECT_EQ(leaves[2].numa_node, 1);
}

TEST(Placement, RanksFillCardAfterCard) {
  EXPECT_EQ(places(place(placeable(cards(1, 2)), unbound(1))), "0.0");
  EXPECT_EQ(places(place(placeable(cards(1, 2)), unbound(2))), "0.0 0.1");
  const std::vector<DeviceInfo> six = placeable(cards(6, 2));
  EXPECT_EQ(places(place(six, unbound(5))), "0.0 0.1 1.0 1.1 2.0");
  EXPECT_EQ(places(place(six, unbound(12))), "0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1 4.0 4.1 5.0 5.1");
}

TEST(Placement, MoreRanksThanDevicesStartOver) {
  const std::vector<Placement> twice = place(placeable(cards(6, 2)), unbound(24));
  for (std::size_t rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(twice[rank].device, twice[rank + 12].device);
    EXPECT_EQ(twice[rank].ranks, 2);
  }
  const std::vector<Placement> uneven = place(placeable(cards(1, 2)), unbound(3));
  EXPECT_EQ(places(uneven), "0.0 0.1 0.0");
  EXPECT_EQ(uneven[0].ranks, 2);
  EXPECT_EQ(uneven[1].ranks, 1);
}

TEST(Placement, RanksStayOnTheirNode) {
  const std::vector<DeviceInfo> six = placeable(cards(6, 2));
  // The ranks are bound to the nodes in reverse order of the cards.
  const std::vector<int> nodes = {1, 1, 0, 0};
  const std::vector<Placement> placed = place(six, nodes);
  EXPECT_EQ(places(placed), "3.0 3.1 0.0 0.1");
  EXPECT_NE(placed[0].reason.find("on its NUMA node 1"), std::string::npos) << placed[0].reason;
  for (const int ranks : {5, 12, 24}) {
    const std::vector<int> halves = bound(ranks);
    const std::vector<Placement> all = place(six, halves);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      EXPECT_EQ(all[rank].device.index() / 3, halves[rank]) << ranks << " ranks, rank " << rank;
      EXPECT_EQ(all[rank].ranks, ranks > 12 ? 2 : 1);
    }
  }
}

TEST(Placement, AFreeDeviceElsewhereIsBetterThanASharedOneAtHome) {
  const std::vector<int> nodes = {0, 0, 0, 1};
  const std::vector<Placement> placed = place(placeable(cards(2, 2)), nodes);
  EXPECT_EQ(places(placed), "0.0 0.1 1.1 1.0") << "rank 3 is on the node of card 1 and gets its first tile";
  EXPECT_NE(placed[2].reason.find("no device was free on its NUMA node 0"), std::string::npos) << placed[2].reason;
}

TEST(Placement, WhatIsNotKnownIsPlacedInOrder) {
  const std::vector<int> nodes = {-1, 1, 5};
  const std::vector<Placement> placed = place(placeable(cards(2, 2)), nodes);
  EXPECT_EQ(places(placed), "0.0 1.0 0.1");
  EXPECT_NE(placed[2].reason.find("in order"), std::string::npos) << "no device is on node 5: " << placed[2].reason;
  EXPECT_EQ(places(place(placeable(cards(2, 2, true, 0)), bound(4))), "0.0 0.1 1.0 1.1");
}

TEST(Placement, WithoutDevicesThereIsNoPlace) {
  EXPECT_THROW((void)place({}, unbound(1)), Error);
  EXPECT_TRUE(place(placeable(cards(1, 0)), {}).empty());
}

TEST(Placement, LocalRanksAreThoseOfTheHost) {
  const spi::Peers peers = {
      .rank = 3, .size = 4, .hosts = {"a", "b", "a", "b"}, .pids = {1, 2, 3, 4}, .numa_nodes = {0, 1, 2, 3}};
  const LocalRanks local = local_ranks(peers);
  EXPECT_EQ(local.rank, 1);
  EXPECT_EQ(local.numa_nodes, (std::vector{1, 3}));
}

TEST(Placement, AThreadBoundToOneCpuIsOnItsNode) {
  if (!std::filesystem::exists("/sys/devices/system/node/node0"))
    GTEST_SKIP() << "the kernel lists no NUMA nodes in /sys";
  int node = -1;
  unsigned cpu = 0;
  unsigned expected = 0;
  std::jthread([&] {
    ASSERT_EQ(getcpu(&cpu, &expected), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_EQ(getcpu(&cpu, &expected), 0);
    node = current_numa_node();
  }).join();
  EXPECT_EQ(node, static_cast<int>(expected)) << "CPU " << cpu;
}

TEST(Placement, ARankOutsideOfItsHostIsRefused) {
  EXPECT_THROW((void)placement({.rank = 2, .numa_nodes = {0, 0}}), Error);
  EXPECT_THROW((void)placement({.rank = -1, .numa_nodes = {0}}), Error);
}

/// Uses the fake card of two sub-devices, which is no GPU.
class PlacementSetting : public testing::Test {
 protected:
  static Config with(const std::string& value) { return Config().set("TUTTI_DEVICE", value); }
  static std::vector<std::string> names(const std::string& value, int ranks, std::string_view module = {}) {
    std::vector<std::string> result;
    for (const Placement& one : placements(unbound(ranks), module, with(value))) result.push_back(one.device.name());
    return result;
  }
  static std::string error(const std::string& value, ErrorCode code, std::string_view module = {}) {
    try {
      (void)placements(unbound(2), module, with(value));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "no error";
  }
};

using Names = std::vector<std::string>;

TEST_F(PlacementSetting, NamesAModuleADeviceAListOrTheHost) {
  EXPECT_EQ(names("threaded", 3), (Names{"threaded:0.0", "threaded:0.1", "threaded:0.0"}));
  EXPECT_EQ(names("threaded:0.1", 2), (Names{"threaded:0.1", "threaded:0.1"}));
  EXPECT_EQ(names("threaded:0", 1), (Names{"threaded:0"}));
  EXPECT_EQ(names("threaded:0.1,threaded:0.0,host", 4),
            (Names{"threaded:0.1", "threaded:0.0", "host", "threaded:0.1"}));
  EXPECT_EQ(names("host", 2), (Names{"host", "host"}));
  EXPECT_EQ(names("auto", 2, "threaded"), (Names{"threaded:0.0", "threaded:0.1"}));
  EXPECT_EQ(names("auto", 1, "host"), (Names{"host"}));
}

TEST_F(PlacementSetting, SaysWhoShares) {
  const std::vector<Placement> dealt = placements(unbound(3), {}, with("threaded:0.1,threaded:0.0"));
  EXPECT_EQ(dealt[0].ranks, 2);
  EXPECT_EQ(dealt[1].ranks, 1);
  EXPECT_NE(dealt[2].reason.find("TUTTI_DEVICE=threaded:0.1,threaded:0.0 (code)"), std::string::npos)
      << dealt[2].reason;
  EXPECT_EQ(placements(unbound(3), {}, with("threaded:0.1"))[0].ranks, 3);
}

TEST_F(PlacementSetting, WhatIsNotThereIsRefusedWithWhatIs) {
  for (const char* value : {"threaded:0.7", "threaded:4", "threaded:", "threaded:0.1,", "threaded:0.1,threaded:x"}) {
    const std::string message = error(value, ErrorCode::config);
    EXPECT_NE(message.find(std::string("TUTTI_DEVICE=") + value), std::string::npos) << message;
    EXPECT_NE(message.find("threaded"), std::string::npos) << message;
  }
  EXPECT_NE(error("threaded:0.7", ErrorCode::config).find("threaded:0.0, threaded:0.1"), std::string::npos);
  EXPECT_NE(error("warp", ErrorCode::config).find("there are: host, "), std::string::npos);
  EXPECT_NE(error("auto", ErrorCode::config, "warp").find("there are: host, "), std::string::npos);
}

TEST_F(PlacementSetting, ADeviceOfAnotherModuleIsRefused) {
  for (const char* value : {"threaded", "threaded:0", "threaded:0.1"}) {
    const std::string message = error(value, ErrorCode::config, "host");
    EXPECT_NE(message.find("needs a device of module host"), std::string::npos) << message;
  }
  EXPECT_NE(error("host", ErrorCode::config, "threaded").find("needs a device of module threaded"), std::string::npos);
}

TEST_F(PlacementSetting, ACommunicatorPlacesItsRanksAndExplains) {
  const std::vector<Communicator> group = local_group(3, {.config = with("threaded")});
  EXPECT_EQ(group[0].explain(OpKind::barrier).reason.find("placed"), std::string::npos);
  const Placement first = group[1].placement();
  EXPECT_EQ(first.device.name(), "threaded:0.1");
  EXPECT_NE(first.reason.find("local rank 1 of 3"), std::string::npos) << first.reason;
  EXPECT_EQ(group[2].placement("threaded").device.name(), "threaded:0.0");
  const std::string why = group[1].explain(OpKind::allreduce).reason;
  EXPECT_NE(why.find("placed on threaded:0.1 (" + first.reason), std::string::npos) << why;
  EXPECT_THROW((void)Communicator().placement(), Error);
}

TEST_F(PlacementSetting, ASplitDoesNotMoveARank) {
  std::vector<std::string> names(2);
  const auto body = [&](const Communicator& comm) {
    names[static_cast<std::size_t>(comm.rank())] = comm.split(comm.rank()).placement().device.name();
  };
  TUTTI_EXPECT_RANKS(2, body, {.communicator = {.config = with("threaded")}});
  EXPECT_EQ(names, (Names{"threaded:0.0", "threaded:0.1"}));
}

}  // namespace
}  // namespace tutti::test
