#include "topo/topo_map.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::array kLegend = {
    LegendEntry{"X", "itself"},
    LegendEntry{"SYS", "PCI and the interconnect between NUMA nodes"},
    LegendEntry{"NODE", "PCI and the interconnect between host bridges of one NUMA node"},
    LegendEntry{"PHB", "PCI and a host bridge, typically of the CPU"},
    LegendEntry{"PXB", "several PCI bridges or switches, but no host bridge"},
    LegendEntry{"PIX", "at most one PCI bridge or switch"},
    LegendEntry{"HOST", "host memory: one of the two is the CPU"},
    LegendEntry{"P2P", "loads and stores over PCI; the positions of the devices are unknown"},
    LegendEntry{"FAB", "links of the vendor between devices"},
    LegendEntry{"NV#", "a bonded set of # NVLinks"},
    LegendEntry{"XL#", "# Xe links"},
    LegendEntry{"TILE", "inside one device: both are sub-devices of it"},
    LegendEntry{"?", "unknown: the device is not in the host's PCI tree"},
};

/// "NV4" is explained by "NV#".
bool explains(std::string_view sign, std::string_view path) {
  if (!sign.ends_with('#')) return sign == path;
  const std::string_view stem = sign.substr(0, sign.size() - 1);
  return path.size() > stem.size() && path.starts_with(stem) &&
         path.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

/// Made from the module's name, because a map may contain devices that this process does not have.
std::string name_of(const DeviceModuleInfo& module, Device device) {
  const std::string card = concat(module.name, ':', device.index());
  return device.sub_device() < 0 ? card : concat(card, '.', device.sub_device());
}

/// In hexadecimal; empty when it is all zero, that is unknown.
std::string uuid_text(std::span<const std::uint8_t> uuid) {
  if (std::ranges::count(uuid, 0) == std::ssize(uuid)) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : uuid) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

/// A device of the map under construction.
struct Leaf {
  MapDevice device;
  int card = 0;  ///< number of the card, counted over all modules
  int part = -1;
  int twin = 0;  ///< how many leaves of its module with the same address come before it
};

/// Collects the devices of all modules.
class Collector {
 public:
  Collector(const HostTree& tree, const std::vector<NumaNode>& nodes, const Locality& own)
      : tree_(tree), nodes_(nodes), own_(own) {}

  void add(const DeviceModuleInfo& module) {
    std::map<std::string, int> twins;
    const std::size_t known = leaves_.size();
    DeviceInfo card;
    for (DeviceInfo info : module.devices) {
      if (info.device.sub_device() < 0) {
        card = info;
        ++cards_;
      }
      if (info.sub_devices > 0) continue;
      if (info.address.empty()) info.address = card.address;
      if (info.numa_node < 0) info.numa_node = card.numa_node;
      const int twin = info.address.empty() ? 0 : twins[info.address]++;
      if (Leaf* same = find(known, info.address, twin)) {
        merge(same->device, module, info);
      } else {
        leaves_.push_back({describe(module, info), cards_, info.device.sub_device(), twin});
      }
    }
  }

  /// The collected devices with their labels, GPUs first.
  [[nodiscard]] std::vector<Leaf> finish() {
    std::ranges::stable_sort(leaves_, {}, [](const Leaf& leaf) { return leaf.device.gpu ? 0 : 1; });
    int number = -1;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Leaf& leaf = leaves_[i];
      const bool is_first_of_kind = i == 0 || leaf.device.gpu != leaves_[i - 1].device.gpu;
      if (is_first_of_kind) number = -1;
      if (is_first_of_kind || leaf.card != leaves_[i - 1].card) ++number;
      leaf.device.label = concat(leaf.device.gpu ? "GPU" : "CPU", number);
      if (leaf.part >= 0) leaf.device.label += concat('.', leaf.part);
    }
    return std::move(leaves_);
  }

 private:
  /// Searches the first `count` leaves, which belong to other modules; null when there is none.
  [[nodiscard]] Leaf* find(std::size_t count, const std::string& address, int twin) {
    if (address.empty()) return nullptr;
    const auto is_it = [&](const Leaf& leaf) { return leaf.device.address == address && leaf.twin == twin; };
    const auto end = leaves_.begin() + static_cast<std::ptrdiff_t>(count);
    const auto found = std::find_if(leaves_.begin(), end, is_it);
    return found == end ? nullptr : &*found;
  }

  [[nodiscard]] MapDevice describe(const DeviceModuleInfo& module, const DeviceInfo& info) const {
    MapDevice device;
    device.description = info.name;
    device.vendor = info.vendor;
    device.driver = info.driver;
    device.address = info.address;
    device.gpu = info.is_gpu;
    merge(device, module, info);
    Locality near = tree_.locality(info.address);
    if (near.cpus.empty()) near = locality_by_node(info);
    device.cpus = std::move(near.cpus);
    device.numa_nodes = std::move(near.numa_nodes);
    return device;
  }

  /// A CPU device without a NUMA node is local to `own`, or to all nodes when that has none.
  [[nodiscard]] Locality locality_by_node(const DeviceInfo& info) const {
    const bool is_everywhere = info.numa_node < 0 && !info.is_gpu;
    if (is_everywhere && !own_.numa_nodes.empty()) return own_;
    Locality near;
    for (const NumaNode& node : nodes_) {
      if (node.node != info.numa_node && !is_everywhere) continue;
      near.cpus += (near.cpus.empty() ? "" : ",") + node.cpus;
      near.numa_nodes += (near.numa_nodes.empty() ? "" : ",") + std::to_string(node.node);
    }
    if (is_everywhere && !own_.cpus.empty()) near.cpus = own_.cpus;
    return near;
  }

  /// Adds the facts of one runtime about a device; other runtimes may not report them.
  static void merge(MapDevice& device, const DeviceModuleInfo& module, const DeviceInfo& info) {
    device.names.push_back(name_of(module, info.device));
    if (device.uuid.empty()) device.uuid = uuid_text(info.uuid);
    device.memory_bytes = std::max(device.memory_bytes, info.memory_bytes);
    device.compute_units = std::max(device.compute_units, info.compute_units);
    device.fake = device.fake || info.is_fake;
    if (device.used_bytes < 0 && info.free_bytes > 0 && info.free_bytes <= info.memory_bytes) {
      device.used_bytes = static_cast<std::int64_t>(info.memory_bytes - info.free_bytes);
    }
  }

  const HostTree& tree_;
  const std::vector<NumaNode>& nodes_;
  const Locality& own_;
  std::vector<Leaf> leaves_;
  int cards_ = 0;
};

/// Links that the modules report, by the names of the two devices.
class Links {
 public:
  explicit Links(std::span<const DeviceModuleInfo> modules) {
    for (const DeviceModuleInfo& module : modules) {
      for (const DeviceLink& link : module.links) {
        DeviceLink& known =
            links_.try_emplace({name_of(module, link.from), name_of(module, link.to)}, link).first->second;
        if (link.kind < known.kind) known = link;  // keep the nearest
      }
    }
  }

  /// Null when no module reports a link between the two.
  [[nodiscard]] const DeviceLink* find(const MapDevice& from, const MapDevice& to) const {
    const DeviceLink* best = nullptr;
    for (const std::string& first : from.names) {
      for (const std::string& second : to.names) {
        const auto found = links_.find({first, second});
        if (found != links_.end() && (best == nullptr || found->second.kind < best->kind)) best = &found->second;
      }
    }
    return best;
  }

 private:
  std::map<std::pair<std::string, std::string>, DeviceLink> links_;
};

MapLink make_link(const Leaf& from, const Leaf& to, const Links& links, const HostTree& tree) {
  MapLink link{from.device.label, to.device.label, "", 0.0};
  const DeviceLink* told = links.find(from.device, to.device);
  if (told != nullptr) link.gb_per_s = told->gb_per_s;
  link.path = path_by_place(from.device, to.device, tree);
  if (link.path == "TILE") return link;
  if (from.card == to.card || (told != nullptr && told->kind == DeviceLink::Kind::same_card)) {
    link.path = "TILE";
  } else if (told != nullptr && told->kind == DeviceLink::Kind::fabric) {
    link.path = told->name.empty() ? "FAB" : told->name;
  } else if (link.path.empty()) {
    link.path = told != nullptr ? "P2P" : "?";
  }
  return link;
}

MapLink make_link(const Leaf& from, const Nic& to, const HostTree& tree) {
  MapLink link{from.device.label, to.label, "HOST", 0.0};
  if (from.device.gpu) link.path = tree.path(from.device.address, to.address);
  if (link.path.empty()) link.path = "?";
  return link;
}

std::vector<MapLink> make_links(const std::vector<Leaf>& leaves, const std::vector<Nic>& nics, const Links& links,
                                const HostTree& tree) {
  std::vector<MapLink> result;
  for (const Leaf& from : leaves) {
    for (const Leaf& to : leaves) {
      if (&from != &to) result.push_back(make_link(from, to, links, tree));
    }
    for (const Nic& nic : nics) {
      result.push_back(make_link(from, nic, tree));
      result.push_back({nic.label, from.device.label, result.back().path, 0.0});
    }
  }
  for (const Nic& from : nics) {
    for (const Nic& to : nics) {
      if (&from != &to) result.push_back({from.label, to.label, std::string(tree.path(from.address, to.address)), 0.0});
    }
  }
  return result;
}

}  // namespace

HostMap make_map(std::string host, std::string cpu, const HostTree& tree, std::span<const DeviceModuleInfo> modules,
                 const Locality& own) {
  HostMap map;
  map.host = std::move(host);
  map.cpu = std::move(cpu);
  map.numa_nodes = tree.numa_nodes();
  map.nics = tree.nics();
  Collector collector(tree, map.numa_nodes, own);
  for (const DeviceModuleInfo& module : modules) {
    if (module.name == "host") continue;  // described by the map itself
    map.modules.push_back({module.name, module.usable, module.version, module.reason});
    if (module.usable) collector.add(module);
  }
  const std::vector<Leaf> leaves = collector.finish();
  for (const Leaf& leaf : leaves) map.devices.push_back(leaf.device);
  map.links = make_links(leaves, map.nics, Links(modules), tree);
  return map;
}

MapRank make_rank(const HostMap& map, int rank, int local_rank, const Placement& placement) {
  MapRank result;
  result.rank = rank;
  result.local_rank = local_rank;
  result.host = map.host;
  result.device = placement.device.name();
  result.sharers = placement.ranks;
  result.cpus = current_cpus();
  result.reason = placement.reason;
  for (const MapDevice& device : map.devices) {
    if (std::ranges::find(device.names, result.device) != device.names.end()) result.label = device.label;
  }
  return result;
}

std::string path_by_place(const MapDevice& from, const MapDevice& to, const HostTree& tree) {
  if (!from.address.empty() && from.address == to.address) return "TILE";
  if (!from.gpu || !to.gpu) return "HOST";
  return std::string(tree.path(from.address, to.address));
}

std::string_view path_between(const HostMap& map, std::string_view from, std::string_view to) {
  if (from == to) return "X";
  const auto is_it = [&](const MapLink& link) { return link.from == from && link.to == to; };
  const auto found = std::ranges::find_if(map.links, is_it);
  return found == map.links.end() ? std::string_view("?") : std::string_view(found->path);
}

std::vector<LegendEntry> legend(std::span<const HostMap> maps) {
  std::vector<LegendEntry> entries;
  for (const LegendEntry& entry : kLegend) {
    const auto is_shown = [&](const HostMap& map) {
      if (entry.sign == "X") return map.devices.size() + map.nics.size() > 0;
      return std::ranges::any_of(map.links, [&](const MapLink& link) { return explains(entry.sign, link.path); });
    };
    if (std::ranges::any_of(maps, is_shown)) entries.push_back(entry);
  }
  return entries;
}

}  // namespace tutti::tools
