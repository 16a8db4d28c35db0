// The maps of a job's ranks are merged into one map per host.
#include "topo/topo_merge.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "topo/topo_job.hpp"
#include "topo/topo_json.hpp"
#include "topo/topo_text.hpp"
#include "unit/tools/invented_machine.hpp"

namespace tutti::tools {
namespace {

/// The map of a rank that sees only tile `tile` of a card because it hides all other devices from itself.
HostMap masked_map(int rank, const char* address, std::uint8_t tile) {
  DeviceModuleInfo module = module_of("cards", std::array{address}, 0);
  module.devices[0].uuid = {1, 2, static_cast<std::uint8_t>(address[5]), static_cast<std::uint8_t>(address[6]), tile};
  HostMap map = map_of({module});
  map.ranks = {make_rank(map, rank, rank, {Device(), 4, "in order"})};
  map.ranks[0].device = "cards:0";
  map.ranks[0].label = "GPU0";
  return map;
}

TEST(TopoMerge, TilesThatRanksHideFromEachOtherAreAllThere) {
  const std::vector<HostMap> seen = {masked_map(0, kGpus[1], 1), masked_map(1, kGpus[1], 0), masked_map(2, kGpus[0], 0),
                                     masked_map(3, kGpus[0], 1), masked_map(4, kGpus[0], 1)};
  const HostMap map = merge_maps(seen, *host_tree_from_xml(invented_machine()));
  ASSERT_EQ(map.devices.size(), 4u);
  EXPECT_EQ(map.devices[0].address, kGpus[0]) << "the order must be that of the cards, not of the ranks";
  std::vector<std::string> labels;
  std::vector<int> sharers;
  for (const MapRank& rank : map.ranks) {
    labels.push_back(rank.label);
    sharers.push_back(rank.sharers);
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"GPU3", "GPU2", "GPU0", "GPU1", "GPU1"}));
  EXPECT_EQ(sharers, (std::vector<int>{1, 1, 1, 2, 2}));
  EXPECT_EQ(path_between(map, "GPU0", "GPU1"), "TILE");
  EXPECT_EQ(path_between(map, "GPU1", "GPU2"), "PXB");
  EXPECT_EQ(path_between(map, "GPU0", "NIC0"), "PIX");
  EXPECT_EQ(path_between(map, "NIC1", "GPU3"), "SYS");
  ASSERT_EQ(map.notes.size(), 2u) << "expected a note that all tiles are called cards:0, and a note that no rank knows "
                                     "the link between GPU1 and GPU2";
  EXPECT_NE(topo_text(std::vector{map}, false, Terminal(-1), 200).find("; shared by 2\n"), std::string::npos)
      << topo_text(std::vector{map}, false, Terminal(-1), 200);
  EXPECT_NE(topo_text(std::vector{map}, false, Terminal(-1), 200).find(map.notes[0].substr(0, 40)), std::string::npos)
      << topo_text(std::vector{map}, false, Terminal(-1), 200);
}

TEST(TopoMerge, WhatAllRanksSeeStaysAsItIs) {
  const DeviceModuleInfo module = module_of("cards", std::array{kGpus[2], kGpus[0]}, 2);
  HostMap one = map_of({module});
  const HostMap merged = merge_maps(std::vector{one, one, one}, *host_tree_from_xml(invented_machine()));
  EXPECT_EQ(topo_document(std::vector{merged}, false), topo_document(std::vector{one}, false));
}

TEST(TopoMerge, WhatAnyRankKnowsIsKept) {
  DeviceModuleInfo module = module_of("cards", std::span(kGpus).first(2), 0);
  module.links.push_back({Device(5, 0), Device(5, 1), DeviceLink::Kind::fabric, "NV4", 100.0});
  DeviceModuleInfo missing;
  missing.name = "cards";
  const std::vector<HostMap> seen = {map_of({missing}), map_of({module_of("cards", std::span(kGpus).subspan(1, 1), 0)}),
                                     map_of({module})};
  const HostMap map = merge_maps(seen, *host_tree_from_xml(invented_machine()));
  ASSERT_EQ(map.devices.size(), 2u);
  EXPECT_EQ(map.devices[1].names, (std::vector<std::string>{"cards:0", "cards:1"}));
  EXPECT_EQ(path_between(map, "GPU0", "GPU1"), "NV4");
  ASSERT_EQ(map.modules.size(), 1u);
  EXPECT_TRUE(map.modules[0].usable);
}

TEST(TopoMerge, ACpuIsWhatARankIsBoundTo) {
  DeviceModuleInfo cpu = module_of("runtime", std::array{""}, 0);
  cpu.devices[0].is_gpu = false;
  const auto tree = host_tree_from_xml(invented_machine());
  std::vector<HostMap> seen;
  for (const char* cpus : {"0", "1", "1"}) {
    seen.push_back(make_map("node1", "Invented CPU", *tree, std::vector{cpu}, {cpus, "0"}));
    EXPECT_EQ(seen.back().devices[0].cpus, cpus);
    MapRank& rank = seen.back().ranks.emplace_back();
    rank.device = "runtime:0";
    rank.label = "CPU0";
  }
  const HostMap map = merge_maps(seen, *tree);
  ASSERT_EQ(map.devices.size(), 2u);
  EXPECT_EQ(map.devices[1].cpus, "1");
  EXPECT_EQ(map.ranks[0].sharers, 1);
  EXPECT_EQ(map.ranks[2].label, "CPU1");
  EXPECT_EQ(map.ranks[2].sharers, 2);
  EXPECT_EQ(path_between(map, "CPU0", "CPU1"), "HOST");
}

TEST(TopoJob, GathersAMapPerHostWithItsRanks) {
  const std::vector<Communicator> group = local_group(5, {.config = Config().set("TUTTI_DEVICE", "host")});
  std::vector<std::vector<HostMap>> gathered(group.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        HostMap here = map_of({module_of("cards", kGpus, rank % 2 == 0 ? 0 : 2)});
        here.host = rank % 2 == 0 ? "even" : "odd";
        gathered[rank] = gather_maps(group[rank], here, *host_tree_from_xml(invented_machine()));
      });
    }
  }
  for (const std::vector<HostMap>& maps : gathered) {
    ASSERT_EQ(maps.size(), 2u);
    EXPECT_EQ(maps[0].host, "even");
    EXPECT_EQ(maps[0].devices.size(), 5u);
    EXPECT_EQ(maps[1].devices.size(), 10u);
    ASSERT_EQ(maps[0].ranks.size(), 3u);
    ASSERT_EQ(maps[1].ranks.size(), 2u);
    EXPECT_EQ(maps[1].ranks[1].rank, 3);
    EXPECT_EQ(maps[1].ranks[1].local_rank, 1);
    EXPECT_EQ(maps[1].ranks[1].device, "host");
  }
}

}  // namespace
}  // namespace tutti::tools
