#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "topo/host_tree.hpp"

namespace tutti::tools {
namespace {

std::string list_text(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (set == nullptr || hwloc_bitmap_list_asprintf(&text, set) < 0) return {};
  std::string result(text);
  std::free(text);
  return result;
}

std::string address_of(hwloc_obj_t device) {
  const auto& pci = device->attr->pcidev;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%01x", static_cast<unsigned>(pci.domain),
                static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev), static_cast<unsigned>(pci.func));
  return text.data();
}

bool is_bridge(hwloc_obj_t object) { return object->type == HWLOC_OBJ_BRIDGE; }

bool is_host_bridge(hwloc_obj_t object) {
  return is_bridge(object) && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

/// The object and its ancestors, up to the machine.
std::vector<hwloc_obj_t> way_up(hwloc_obj_t object) {
  std::vector<hwloc_obj_t> way;
  for (; object != nullptr; object = object->parent) way.push_back(object);
  return way;
}

class HwlocTree final : public HostTree {
 public:
  /// Reads `xml`, or this machine when `xml` is null.
  explicit HwlocTree(const std::string* xml) {
    if (hwloc_topology_init(&topology_) != 0) throw std::runtime_error("hwloc_topology_init failed");
    bool is_loaded =
        xml == nullptr || hwloc_topology_set_xmlbuffer(topology_, xml->c_str(), static_cast<int>(xml->size() + 1)) == 0;
    hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    // These components would start device runtimes, which only the device modules may start.
    for (const char* component : {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"}) {
      hwloc_topology_set_components(topology_, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    }
    is_loaded = is_loaded && hwloc_topology_load(topology_) == 0;
    if (is_loaded) return;
    hwloc_topology_destroy(topology_);
    throw std::runtime_error(xml != nullptr ? "the text is not hwloc XML"
                                            : "hwloc cannot read the topology of this machine");
  }
  ~HwlocTree() override { hwloc_topology_destroy(topology_); }
  HwlocTree(const HwlocTree&) = delete;
  HwlocTree& operator=(const HwlocTree&) = delete;

  [[nodiscard]] std::vector<NumaNode> numa_nodes() const override {
    std::vector<NumaNode> nodes;
    for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node));) {
      nodes.push_back({.node = static_cast<int>(node->os_index),
                       .cpus = list_text(node->cpuset),
                       .memory_bytes = node->attr->numanode.local_memory});
    }
    std::ranges::sort(nodes, {}, &NumaNode::node);
    return nodes;
  }

  [[nodiscard]] std::vector<Nic> nics() const override {
    std::map<std::string, Nic> by_address;  // one adapter may have a socket device and a verbs device
    for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology_, device));) {
      const auto kind = device->attr->osdev.type;
      if (kind != HWLOC_OBJ_OSDEV_NETWORK && kind != HWLOC_OBJ_OSDEV_OPENFABRICS) continue;
      if (device->parent->type != HWLOC_OBJ_PCI_DEVICE) continue;
      const std::string address = address_of(device->parent);
      Nic& nic = by_address[address];
      const Locality near = locality(address);
      nic.name += (nic.name.empty() ? "" : ", ") + std::string(device->name);
      nic.address = address;
      nic.cpus = near.cpus;
      nic.numa_nodes = near.numa_nodes;
    }
    std::vector<Nic> result;
    for (auto& [address, nic] : by_address) {
      nic.label = "NIC" + std::to_string(result.size());
      result.push_back(std::move(nic));
    }
    return result;
  }

  [[nodiscard]] Locality locality(const std::string& address) const override {
    hwloc_obj_t device = find(address);
    if (device == nullptr) return {};
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology_, device);
    return {list_text(near->cpuset), list_text(near->nodeset)};
  }

  [[nodiscard]] std::string_view path(const std::string& from, const std::string& to) const override {
    hwloc_obj_t first = find(from);
    hwloc_obj_t second = find(to);
    if (first == nullptr || second == nullptr) return {};
    const std::vector<hwloc_obj_t> up = way_up(first);
    const std::vector<hwloc_obj_t> other = way_up(second);
    const auto meeting = std::ranges::find_first_of(up, other);
    const auto bridges = [&](const std::vector<hwloc_obj_t>& way) {
      return std::count_if(way.begin(), std::ranges::find(way, *meeting), is_bridge);
    };
    // A PCI switch is an upstream bridge plus one bridge per port.
    if (is_host_bridge(*meeting)) return "PHB";
    if (is_bridge(*meeting)) return bridges(up) <= 1 && bridges(other) <= 1 ? "PIX" : "PXB";
    if ((*meeting)->type == HWLOC_OBJ_PCI_DEVICE) return "PIX";
    const bool is_one_place =
        hwloc_get_non_io_ancestor_obj(topology_, first) == hwloc_get_non_io_ancestor_obj(topology_, second);
    return is_one_place || hwloc_bitmap_weight((*meeting)->nodeset) == 1 ? "NODE" : "SYS";
  }

 private:
  [[nodiscard]] hwloc_obj_t find(const std::string& address) const {
    return address.empty() ? nullptr : hwloc_get_pcidev_by_busidstring(topology_, address.c_str());
  }

  hwloc_topology_t topology_ = nullptr;
};

}  // namespace

std::unique_ptr<HostTree> this_host_tree() { return std::make_unique<HwlocTree>(nullptr); }

std::unique_ptr<HostTree> host_tree_from_xml(const std::string& xml) { return std::make_unique<HwlocTree>(&xml); }

}  // namespace tutti::tools
