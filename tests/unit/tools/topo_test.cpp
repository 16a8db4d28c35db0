#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "text/text.hpp"
#include "topo/host_tree.hpp"
#include "topo/topo_json.hpp"
#include "topo/topo_map.hpp"
#include "topo/topo_text.hpp"
#include "unit/tools/invented_machine.hpp"

namespace tutti::tools {
namespace {

std::string text_of(const HostMap& map, std::size_t width = 200) {
  const Terminal nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  return topo_text(std::vector{map}, true, nowhere, width);
}

std::vector<std::string> signs(const HostMap& map) {
  std::vector<std::string> result;
  for (const LegendEntry& entry : legend(std::vector{map})) result.emplace_back(entry.sign);
  return result;
}

TEST(HostTree, KnowsNodesAndAdapters) {
  const auto tree = host_tree_from_xml(invented_machine());
  const std::vector<NumaNode> nodes = tree->numa_nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].node, 1);
  EXPECT_EQ(nodes[1].cpus, "2-3");
  EXPECT_EQ(nodes[1].memory_bytes, std::uint64_t{64} << 30);
  const std::vector<Nic> nics = tree->nics();
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].label, "NIC0");
  EXPECT_EQ(nics[0].name, "ib0, mlx5_0") << "one adapter with two devices of the operating system";
  EXPECT_EQ(nics[1].numa_nodes, "1");
  EXPECT_EQ(tree->locality("0000:07:00.0").cpus, "0-1");
  EXPECT_EQ(tree->locality("0000:80:00.0").cpus, "2-3");
  EXPECT_EQ(tree->locality("0000:99:00.0").cpus, "");
}

TEST(HostTree, TellsPathsApart) {
  const auto tree = host_tree_from_xml(invented_machine());
  const auto path = [&](const char* from, const char* to) {
    const std::string first = concat("0000:", from, ":00.0");
    const std::string second = concat("0000:", to, ":00.0");
    EXPECT_EQ(tree->path(first, second), tree->path(second, first));
    return std::string(tree->path(first, second));
  };
  EXPECT_EQ(path("03", "04"), "PIX");
  EXPECT_EQ(path("03", "07"), "PXB");
  EXPECT_EQ(path("03", "08"), "PHB");
  EXPECT_EQ(path("80", "81"), "PHB");
  EXPECT_EQ(path("03", "40"), "NODE");
  EXPECT_EQ(path("03", "80"), "SYS");
  EXPECT_EQ(path("40", "81"), "SYS");
  EXPECT_EQ(path("03", "99"), "") << "there is no device 99";
  EXPECT_EQ(tree->path("", "0000:03:00.0"), "");
}

TEST(HostTree, RefusesWhatIsNoTree) {
  EXPECT_THROW((void)host_tree_from_xml("<html/>"), std::runtime_error);
  EXPECT_THROW((void)host_tree_from_xml(""), std::runtime_error);
}

TEST(HostTree, OfThisMachineHasNodesWithMemoryAndCpus) {
  const std::vector<NumaNode> nodes = this_host_tree()->numa_nodes();
  ASSERT_FALSE(nodes.empty());
  EXPECT_GT(nodes[0].memory_bytes, 0u);
  for (const NumaNode& node : nodes) EXPECT_FALSE(node.cpus.empty()) << node.node;
}

TEST(TopoMap, PutsEachPathIntoTheMatrix) {
  const HostMap map = map_of({module_of("cards", kGpus, 0)});
  ASSERT_EQ(map.devices.size(), 5u);
  EXPECT_EQ(map.devices[4].label, "GPU4");
  EXPECT_EQ(map.devices[4].names, std::vector<std::string>{"cards:4"});
  EXPECT_EQ(map.devices[4].cpus, "2-3");
  EXPECT_EQ(path_between(map, "GPU0", "GPU0"), "X");
  EXPECT_EQ(path_between(map, "GPU0", "NIC0"), "PIX");
  EXPECT_EQ(path_between(map, "NIC0", "GPU1"), "PXB");
  EXPECT_EQ(path_between(map, "GPU2", "GPU1"), "PHB");
  EXPECT_EQ(path_between(map, "GPU3", "GPU0"), "NODE");
  EXPECT_EQ(path_between(map, "GPU3", "GPU4"), "SYS");
  EXPECT_EQ(path_between(map, "NIC0", "NIC1"), "SYS");
  EXPECT_EQ(signs(map), (std::vector<std::string>{"X", "SYS", "NODE", "PHB", "PXB", "PIX"}));
}

TEST(TopoMap, SubDevicesAreTilesOfACard) {
  const HostMap map = map_of({module_of("cards", std::span(kGpus).first(2), 2)});
  ASSERT_EQ(map.devices.size(), 4u);
  EXPECT_EQ(map.devices[2].label, "GPU1.0");
  EXPECT_EQ(map.devices[2].names[0], "cards:1.0");
  EXPECT_EQ(map.devices[2].used_bytes, std::int64_t{8} << 30);
  EXPECT_EQ(path_between(map, "GPU1.0", "GPU1.1"), "TILE");
  EXPECT_EQ(path_between(map, "GPU0.0", "GPU1.1"), "PXB");
}

TEST(TopoMap, TilesThatAreDevicesOfTheirOwnAreKnownByTheirAddress) {
  const HostMap map = map_of({module_of("cards", std::span(kGpus).first(2), 2, true)});
  ASSERT_EQ(map.devices.size(), 4u);
  EXPECT_EQ(map.devices[3].label, "GPU3");
  EXPECT_EQ(path_between(map, "GPU2", "GPU3"), "TILE");
  EXPECT_EQ(path_between(map, "GPU1", "GPU2"), "PXB");
}

TEST(TopoMap, WhatTwoModulesSeeIsOne) {
  const HostMap map = map_of({module_of("first", std::span(kGpus).first(2), 2), module_of("second", kGpus, 2)});
  ASSERT_EQ(map.devices.size(), 10u);
  EXPECT_EQ(map.devices[3].names, (std::vector<std::string>{"first:1.1", "second:1.1"}));
  EXPECT_EQ(map.devices[4].names, (std::vector<std::string>{"second:2.0"}));
  EXPECT_EQ(map.devices[4].label, "GPU2.0");
  const HostMap mixed =
      map_of({module_of("first", std::span(kGpus).first(1), 2), module_of("flat", std::span(kGpus).first(1), 2, true)});
  ASSERT_EQ(mixed.devices.size(), 2u);
  EXPECT_EQ(mixed.devices[1].names, (std::vector<std::string>{"first:0.1", "flat:1"}));
}

TEST(TopoMap, WhatModulesTellComesBeforeThePciBus) {
  DeviceModuleInfo module = module_of("cards", kGpus, 0);
  const auto link = [&](int from, int to, DeviceLink::Kind kind, const char* name) {
    module.links.push_back(
        {Device(5, static_cast<std::int16_t>(from)), Device(5, static_cast<std::int16_t>(to)), kind, name, 25.0});
  };
  link(0, 1, DeviceLink::Kind::peer, "");
  link(0, 2, DeviceLink::Kind::fabric, "NV12");
  link(0, 3, DeviceLink::Kind::fabric, "XL2");
  link(0, 4, DeviceLink::Kind::fabric, "");
  link(1, 2, DeviceLink::Kind::peer, "");
  link(1, 2, DeviceLink::Kind::fabric, "NV4");
  const HostMap map = map_of({module});
  EXPECT_EQ(path_between(map, "GPU0", "GPU1"), "PXB");
  EXPECT_EQ(path_between(map, "GPU0", "GPU2"), "NV12");
  EXPECT_EQ(path_between(map, "GPU0", "GPU3"), "XL2");
  EXPECT_EQ(path_between(map, "GPU0", "GPU4"), "FAB");
  EXPECT_EQ(path_between(map, "GPU1", "GPU2"), "NV4");
  const std::vector<std::string> shown = signs(map);
  EXPECT_EQ(std::ranges::count(shown, "NV#"), 1);
  EXPECT_EQ(std::ranges::count(shown, "XL#"), 1);
  EXPECT_EQ(std::ranges::count(shown, "?"), 0);
}

TEST(TopoMap, DevicesThatTheTreeDoesNotHaveAreNotGuessed) {
  constexpr std::array kNowhere = {"0000:f1:00.0", "0000:f2:00.0", ""};
  const HostMap map = map_of({module_of("cards", kNowhere, 0)});
  EXPECT_EQ(path_between(map, "GPU0", "GPU1"), "?");
  EXPECT_EQ(path_between(map, "GPU2", "NIC0"), "?");
  EXPECT_EQ(map.devices[0].cpus, "");
  EXPECT_EQ(signs(map).back(), "?");
}

TEST(TopoMap, CpusAreTheHostAndComeLast) {
  DeviceModuleInfo cpu = module_of("runtime", std::span(kGpus).first(1), 2);
  for (DeviceInfo& info : cpu.devices) {
    info.is_gpu = false;
    info.address = "";
  }
  const HostMap map = map_of({cpu, module_of("cards", std::span(kGpus).first(1), 0)});
  ASSERT_EQ(map.devices.size(), 3u);
  EXPECT_EQ(map.devices[0].label, "GPU0");
  EXPECT_EQ(map.devices[2].label, "CPU0.1");
  EXPECT_EQ(map.devices[2].cpus, "0-1,2-3");
  EXPECT_EQ(path_between(map, "CPU0.0", "CPU0.1"), "TILE");
  EXPECT_EQ(path_between(map, "CPU0.0", "GPU0"), "HOST");
  EXPECT_EQ(path_between(map, "CPU0.0", "NIC0"), "HOST");
}

TEST(TopoMap, WithoutDevicesItIsAMapOfTheHost) {
  DeviceModuleInfo broken;
  broken.name = "broken";
  broken.reason = "no driver";
  const HostMap map = map_of({broken});
  EXPECT_TRUE(map.devices.empty());
  const std::string text = text_of(map);
  EXPECT_NE(text.find("  broken      no driver\n"), std::string::npos) << text;
  EXPECT_NE(text.find("NIC1"), std::string::npos) << text;
}

TEST(TopoText, ShowsDevicesMatrixLegendAndRanks) {
  DeviceModuleInfo module = module_of("cards", std::span(kGpus).first(2), 2);
  for (DeviceInfo& info : module.devices) info.is_fake = info.device.index() == 1;
  HostMap map = map_of({module});
  map.ranks.push_back({.rank = 7,
                       .host = "node1",
                       .device = "cards:1.0",
                       .label = "GPU1.0",
                       .cpus = "0-1",
                       .reason = "local rank 3 of 4: in order"});
  const std::string text = text_of(map);
  for (const char* expected :
       {"Host node1  Invented CPU", "GPU1.0  cards:1.0     8.00 GiB of 32.0 GiB  0000:07:00.0  Invented 1550 (fake)",
        "GPU0.1  cards:0.1     8.00 GiB of 32.0 GiB  0000:03:00.0  Invented 1550\n",
        "          GPU0.0  GPU0.1  GPU1.0  GPU1.1  NIC0  NIC1  CPU affinity  NUMA affinity\n",
        "  GPU0.1  TILE    X       PXB     PXB     PIX   SYS   0-1           0\n", "  TILE  inside one device",
        "     7  GPU1.0  cards:1.0     0-1   local rank 3 of 4: in order\n"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\nis not in\n" << text;
  }
}

TEST(TopoText, AWideMatrixComesInParts) {
  const HostMap map = map_of({module_of("cards", kGpus, 2)});
  const std::string text = text_of(map, 60);
  const std::string matrix = text.substr(text.find("Links"), text.find("Legend") - text.find("Links"));
  std::size_t rows = 0;
  for (const std::string& line : split(matrix, '\n')) {
    EXPECT_LE(line.size(), 60u) << line;
    rows += line.starts_with("  GPU4.1 ") ? 1 : 0;
  }
  EXPECT_GE(rows, 2u) << matrix;
  for (const char* title : {"GPU0.0", "GPU4.1", "NIC1", "CPU affinity", "NUMA affinity"}) {
    EXPECT_NE(matrix.find(title), std::string::npos) << title;
  }
}

TEST(TopoJson, ComesBackAsItWent) {
  HostMap map = map_of({module_of("cards", kGpus, 2)});
  map.ranks.push_back({.rank = 1,
                       .local_rank = 1,
                       .host = "node1",
                       .device = "cards:0.1",
                       .label = "GPU0.1",
                       .sharers = 2,
                       .cpus = "2-3",
                       .reason = "\"because\""});
  const HostMap copy = decode_map(encode(map));
  EXPECT_EQ(topo_document(std::vector{copy}, false), topo_document(std::vector{map}, false));
  EXPECT_EQ(copy.ranks.at(0).reason, "\"because\"");
  EXPECT_EQ(text_of(copy), text_of(map));
  EXPECT_ANY_THROW((void)decode_map("{}"));
  map.host = "\xff";
  EXPECT_NO_THROW((void)encode(map)) << "a host name that is not UTF-8";
}

TEST(TopoJson, HasTheDocumentedFields) {
  HostMap map = map_of({module_of("cards", std::span(kGpus).first(2), 2)});
  map.ranks.emplace_back();
  const nlohmann::ordered_json json = topo_document(std::vector{map}, true);
  EXPECT_TRUE(json.at("predicted").get<bool>());
  EXPECT_EQ(json.at("legend").at("X"), "itself");
  const auto& host = json.at("hosts").at(0);
  EXPECT_EQ(host.at("host"), "node1");
  EXPECT_EQ(host.at("numa_nodes").at(1).at("cpus"), "2-3");
  EXPECT_EQ(host.at("devices").at(1).at("devices").at(0), "cards:0.1");
  EXPECT_EQ(host.at("devices").at(1).at("used_bytes"), std::int64_t{8} << 30);
  EXPECT_EQ(host.at("nics").at(0).at("name"), "ib0, mlx5_0");
  EXPECT_EQ(host.at("links").size(), 6u * 5u) << "all pairs, both directions";
  for (const char* field : {"rank", "local_rank", "host", "device", "label", "ranks_on_device", "cpus", "reason"}) {
    EXPECT_TRUE(host.at("ranks").at(0).contains(field)) << field;
  }
}

}  // namespace
}  // namespace tutti::tools
