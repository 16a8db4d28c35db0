#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/text.hpp"
#include "topo/host_tree.hpp"
#include "topo/topo_map.hpp"

namespace tutti::tools {

/// The hwloc XML of an invented machine: two packages with a NUMA node each. The first package has two host bridges.
/// Behind the first bridge: a switch with a GPU (03), an adapter (04) and another switch with a GPU (07), and beside
/// the switch a GPU (08). Behind the second bridge: a GPU (40). The second package has a GPU (80) and an adapter (81).
inline std::string invented_machine() {
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

inline constexpr std::array kGpus = {"0000:03:00.0", "0000:07:00.0", "0000:08:00.0", "0000:40:00.0", "0000:80:00.0"};

/// A device module with a card of `tiles` tiles at each address. `is_flat`: each tile is a device, and the card is not.
inline DeviceModuleInfo module_of(const std::string& name, std::span<const char* const> addresses, int tiles,
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

inline HostMap map_of(const std::vector<DeviceModuleInfo>& modules) {
  return make_map("node1", "Invented CPU", *host_tree_from_xml(invented_machine()), modules);
}

}  // namespace tutti::tools
