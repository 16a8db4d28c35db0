#include "tutti/placement.hpp"

#include <algorithm>
#include <cstddef>

#include "device/device_table.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti {

namespace {

constexpr const char* kSetting = "TUTTI_DEVICE";

std::string said_by(const Config& config) {
  return std::string(kSetting) + "=" + spi::printable(config.text(kSetting)) + " (" +
         std::string(config.source(kSetting)) + ")";
}

bool is_any_gpu(std::span<const DeviceInfo> devices) { return std::ranges::any_of(devices, &DeviceInfo::is_gpu); }

std::vector<Device> parse_list(const Config& config) {
  std::vector<Device> devices;
  std::string_view rest = config.text(kSetting);
  while (true) {
    const std::size_t comma = rest.find(',');
    try {
      devices.push_back(Device::parse(rest.substr(0, comma)));
    } catch (const Error& error) {
      throw Error(error.code(), said_by(config) + ": " + error.what());
    }
    if (comma == std::string_view::npos) return devices;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<Placement> place_as_given(std::span<const int> ranks, std::string_view module, const Config& config) {
  const std::vector<Device> devices = parse_list(config);
  for (const Device& device : devices) {
    if (module.empty() || DeviceTable::instance().name_of(device.module()) == module) continue;
    throw Error(ErrorCode::config, said_by(config) + " names " + device.name() +
                                       ", but the program needs a device of module " + std::string(module));
  }
  std::vector<Placement> result;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::size_t slot = rank % devices.size();
    const int on_it = static_cast<int>((ranks.size() - slot + devices.size() - 1) / devices.size());
    std::string reason = "set by " + said_by(config);
    if (devices.size() > 1) {
      reason += " for local rank " + std::to_string(rank);
    } else if (on_it > 1) {
      reason += " for all ranks";
    }
    result.push_back({devices[slot], on_it, std::move(reason)});
  }
  return result;
}

/// The GPUs of the first usable module that has any; empty if there is none, and the ranks are placed on the host.
std::vector<DeviceInfo> any_gpus(const Config& config) {
  for (const DeviceModuleInfo& module : device_modules(config)) {
    if (module.usable && is_any_gpu(module.devices)) return placeable(module.devices);
  }
  return {};
}

std::vector<DeviceInfo> devices_of(std::string_view module, const Config& config) {
  DeviceTable& table = DeviceTable::instance();
  const std::uint16_t number = table.number_of(module, config);
  if (number == 0) {
    throw Error(ErrorCode::config,
                "there is no device module '" + spi::printable(module) + "'; there are: " + table.names(config));
  }
  std::vector<DeviceInfo> leaves = placeable(table.open(number, config).devices());
  if (leaves.empty()) {
    throw Error(ErrorCode::backend_unavailable,
                "device module " + std::string(module) + " found no device on this machine");
  }
  return leaves;
}

std::vector<Placement> all_on_host(std::size_t ranks, const std::string& reason) {
  return std::vector<Placement>(ranks, Placement{Device(), static_cast<int>(ranks), reason});
}

/// Assigns devices to ranks in rounds; in each round a device is taken by at most one rank.
class Rounds {
 public:
  Rounds(std::span<const DeviceInfo> leaves, std::span<const int> nodes)
      : leaves_(leaves), nodes_(nodes), taken_(nodes.size(), -1) {}

  /// Returns the index of each rank's leaf.
  std::vector<int> run() {
    for (std::size_t placed = 0; placed < nodes_.size();) {
      free_.assign(leaves_.size(), true);
      // First the ranks with a free device on their own NUMA node, before other ranks take these devices.
      placed += fill([this](std::size_t rank, std::size_t leaf) { return is_near(rank, leaf); });
      placed += fill([](std::size_t, std::size_t) { return true; });
    }
    return taken_;
  }

 private:
  [[nodiscard]] bool is_near(std::size_t rank, std::size_t leaf) const {
    return nodes_[rank] >= 0 && leaves_[leaf].numa_node == nodes_[rank];
  }

  template <typename Accepts>
  std::size_t fill(Accepts accepts) {
    std::size_t placed = 0;
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      for (std::size_t leaf = 0; taken_[rank] < 0 && leaf < leaves_.size(); ++leaf) {
        if (!free_[leaf] || !accepts(rank, leaf)) continue;
        taken_[rank] = static_cast<int>(leaf);
        free_[leaf] = false;
        ++placed;
      }
    }
    return placed;
  }

  std::span<const DeviceInfo> leaves_;
  std::span<const int> nodes_;
  std::vector<int> taken_;
  std::vector<bool> free_;
};

/// E.g. "local rank 3 of 12: on its NUMA node 0". Does not name the ranks that share the device: that depends on the
/// devices that the other ranks see.
std::string reason_for(std::size_t rank, int node, const DeviceInfo& leaf, std::span<const DeviceInfo> leaves,
                       std::size_t ranks) {
  std::string text = "local rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": ";
  const auto is_home = [&](const DeviceInfo& info) { return info.numa_node == node; };
  if (node < 0 || std::ranges::none_of(leaves, is_home)) {
    text += "in order";
  } else {
    text += is_home(leaf) ? "on its NUMA node " : "no device was free on its NUMA node ";
    text += std::to_string(node);
  }
  return text;
}

}  // namespace

std::vector<DeviceInfo> placeable(std::span<const DeviceInfo> devices) {
  const bool has_gpu = is_any_gpu(devices);
  std::vector<DeviceInfo> leaves;
  int node = -1;
  for (const DeviceInfo& info : devices) {
    if (info.device.sub_device() < 0) node = info.numa_node;
    if (info.sub_devices > 0 || (has_gpu && !info.is_gpu)) continue;
    leaves.push_back(info);
    if (info.numa_node < 0) leaves.back().numa_node = node;  // a sub-device is on its card's node
  }
  return leaves;
}

std::vector<Placement> place(std::span<const DeviceInfo> leaves, std::span<const int> rank_numa_nodes) {
  if (leaves.empty()) throw Error(ErrorCode::invalid_argument, "the list of devices to place ranks on is empty");
  const std::vector<int> taken = Rounds(leaves, rank_numa_nodes).run();
  std::vector<Placement> result;
  for (std::size_t rank = 0; rank < taken.size(); ++rank) {
    const DeviceInfo& leaf = leaves[static_cast<std::size_t>(taken[rank])];
    const int sharers = static_cast<int>(std::ranges::count(taken, taken[rank]));
    result.push_back({leaf.device, sharers, reason_for(rank, rank_numa_nodes[rank], leaf, leaves, taken.size())});
  }
  return result;
}

std::vector<Placement> placements(std::span<const int> rank_numa_nodes, std::string_view module, const Config& config) {
  const std::string& wanted = config.text(kSetting);
  const bool is_module = wanted != "host" && wanted.find_first_of(":,") == std::string::npos;
  if (wanted != "auto" && !is_module) return place_as_given(rank_numa_nodes, module, config);
  if (wanted != "auto" && !module.empty() && module != wanted) {
    throw Error(ErrorCode::config,
                said_by(config) + " names a module, but the program needs a device of module " + std::string(module));
  }
  if (wanted != "auto") {
    try {
      return place(devices_of(wanted, config), rank_numa_nodes);
    } catch (const Error& error) {
      throw Error(error.code(), said_by(config) + ": " + error.what());
    }
  }
  if (module == "host") return all_on_host(rank_numa_nodes.size(), "the program asked for the host");
  if (!module.empty()) return place(devices_of(module, config), rank_numa_nodes);
  const std::vector<DeviceInfo> gpus = any_gpus(config);
  if (gpus.empty()) return all_on_host(rank_numa_nodes.size(), "no device module found a GPU on this machine");
  return place(gpus, rank_numa_nodes);
}

Placement placement(const LocalRanks& ranks, std::string_view module, const Config& config) {
  const auto rank = static_cast<std::size_t>(ranks.rank);
  if (ranks.rank < 0 || rank >= ranks.numa_nodes.size()) {
    throw Error(ErrorCode::invalid_argument,
                "local rank " + std::to_string(ranks.rank) +
                    " is out of range; ranks on this host: " + std::to_string(ranks.numa_nodes.size()));
  }
  return placements(ranks.numa_nodes, module, config)[rank];
}

LocalRanks local_ranks(const spi::Peers& peers) {
  LocalRanks result{.rank = 0, .numa_nodes = {}};
  const std::string& here = peers.hosts.at(static_cast<std::size_t>(peers.rank));
  for (std::size_t rank = 0; rank < peers.hosts.size(); ++rank) {
    if (peers.hosts[rank] != here) continue;
    if (static_cast<int>(rank) == peers.rank) result.rank = static_cast<int>(result.numa_nodes.size());
    result.numa_nodes.push_back(rank < peers.numa_nodes.size() ? peers.numa_nodes[rank] : -1);
  }
  return result;
}

}  // namespace tutti
