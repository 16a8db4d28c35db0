#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "host_tree.hpp"
#include "text.hpp"
#include "topo_job.hpp"
#include "topo_json.hpp"
#include "topo_map.hpp"
#include "topo_text.hpp"

namespace tutti::tools {
namespace {

/// Two packages with a NUMA node each. The first has two host bridges; behind one of them a switch with a GPU (03), an
/// adapter (04) and another switch with a GPU (07), and beside the switch a GPU (08). The second has a GPU (80) and an
/// adapter (81).
std::string invented_machine() {
  int index = 10;
  const auto end = [&] { return concat("gp_index=\"", index++, "\""); };
  const auto bridge = [&](const char* range, const char* address, int depth) {
    return depth == 0 ? concat("<object type=\"Bridge\" ", end(),
                               " bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[", range, "]\">\n")
                      : concat("<object type=\"Bridge\" ", end(), " bridge_type=\"1-1\" depth=\"", depth,
                               "\" bridge_pci=\"0000:[", range, "]\" pci_busid=\"0000:", address,
                               "\" pci_type=\"0604 [1234:0001] [0000:0000] 00\" pci_link_speed=\"0.000000\">\n");
  };
  const auto gpu = [&](const char* address) {
    return concat("<object type=\"PCIDev\" ", end(), " pci_busid=\"0000:", address,
                  "\" pci_type=\"0380 [1234:0002] [0000:0000] 00\" pci_link_speed=\"0.000000\"/>\n");
  };
  const auto nic = [&](const char* address, const char* name, const char* verbs) {
    return concat("<object type=\"PCIDev\" ", end(), " pci_busid=\"0000:", address,
                  "\" pci_type=\"0200 [1234:0003] [0000:0000] 00\" pci_link_speed=\"0.000000\">\n",
                  "<object type=\"OSDev\" ", end(), " name=\"", name, "\" osdev_type=\"2\"/>\n",
                  "<object type=\"OSDev\" ", end(), " name=\"", verbs, "\" osdev_type=\"3\"/>\n</object>\n");
  };
  const auto set = [](const char* cpus, const char* nodes) {
    return concat(" cpuset=\"", cpus, "\" complete_cpuset=\"", cpus, "\" nodeset=\"", nodes, "\" complete_nodeset=\"",
                  nodes, "\" ");
  };
  const auto package = [&](int number, const char* cpus, const char* nodes, int first_cpu) {
    std::string text = concat("<object type=\"Package\" os_index=\"", number, "\"", set(cpus, nodes), end(), ">\n");
    text += concat("<object type=\"NUMANode\" os_index=\"", number, "\"", set(cpus, nodes), end(),
                   " local_memory=\"68719476736\"/>\n");
    for (const int cpu : {first_cpu, first_cpu + 1}) {
      const std::string one = concat("0x0000000", 1 << cpu);
      text += concat("<object type=\"PU\" os_index=\"", cpu, "\"", set(one.c_str(), nodes), end(), "/>\n");
    }
    return text;
  };
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
      "version=\"2.0\">\n";
  text += concat("<object type=\"Machine\" os_index=\"0\"", set("0x0000000f", "0x00000003"),
                 "allowed_cpuset=\"0x0000000f\" allowed_nodeset=\"0x00000003\" gp_index=\"1\">\n");
  text += package(0, "0x00000003", "0x00000001", 0);
  text += bridge("00-0f", "", 0) + bridge("01-07", "00:01.0", 1);
  text += bridge("03-03", "02:00.0", 2) + gpu("03:00.0") + "</object>\n";
  text += bridge("04-04", "02:01.0", 2) + nic("04:00.0", "ib0", "mlx5_0") + "</object>\n";
  text += bridge("05-07", "02:02.0", 2) + bridge("06-07", "05:00.0", 3) + gpu("07:00.0") + "</object>\n</object>\n";
  text += "</object>\n" + gpu("08:00.0") + "</object>\n";
  text += bridge("40-4f", "", 0) + gpu("40:00.0") + "</object>\n</object>\n";
  text += package(1, "0x0000000c", "0x00000002", 2);
  text += bridge("80-8f", "", 0) + gpu("80:00.0") + nic("81:00.0", "eth0", "irdma0") + "</object>\n</object>\n";
  return text + "</object>\n</topology>\n";
}

constexpr std::array kGpus = {"0000:03:00.0", "0000:07:00.0", "0000:08:00.0", "0000:40:00.0", "0000:80:00.0"};

/// A module that sees a card at each address, with or without tiles; flat: the tiles are devices of their own.
DeviceModuleInfo module_of(const std::string& name, std::span<const char* const> addresses, int tiles,
                           bool is_flat = false) {
  DeviceModuleInfo module;
  module.name = name;
  module.usable = true;
  std::int16_t index = 0;
  for (const char* address : addresses) {
    DeviceInfo card;
    card.device = Device(5, index);
    card.name = "Invented 1550";
    card.address = address;
    card.is_gpu = true;
    card.sub_devices = tiles;
    card.memory_bytes = std::uint64_t{64} << 30;
    if (!is_flat) module.devices.push_back(card);
    card.sub_devices = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      card.device = is_flat ? Device(5, index++) : Device(5, index, static_cast<std::int16_t>(tile));
      card.memory_bytes = std::uint64_t{32} << 30;
      card.free_bytes = std::uint64_t{24} << 30;
      module.devices.push_back(card);
    }
    if (!is_flat) ++index;
  }
  return module;
}

HostMap map_of(const std::vector<DeviceModuleInfo>& modules) {
  return make_map("node1", "Invented CPU", *host_tree_from_xml(invented_machine()), modules);
}

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
  EXPECT_EQ(nics[0].name, "ib0, mlx5_0") << "one adapter, two devices of the system";
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
  EXPECT_EQ(path("03", "99"), "") << "not there";
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

TEST(TopoJob, GathersAMapPerHostWithItsRanks) {
  const std::vector<Communicator> group = local_group(5, {.config = Config().set("TUTTI_DEVICE", "host")});
  std::vector<std::vector<HostMap>> gathered(group.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        HostMap here = map_of({module_of("cards", kGpus, rank % 2 == 0 ? 0 : 2)});
        here.host = rank % 2 == 0 ? "even" : "odd";
        gathered[rank] = gather_maps(group[rank], here);
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
  EXPECT_EQ(decode_rank(encode(map.ranks[0])).reason, "\"because\"");
  EXPECT_EQ(text_of(copy), text_of(map));
  EXPECT_ANY_THROW((void)decode_map("{}"));
  map.host = "\xff";
  EXPECT_NO_THROW((void)encode(map)) << "a name that is no UTF-8";
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
