#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/host_tree.hpp"
#include "tutti/info/device_info.hpp"
#include "tutti/placement.hpp"

/// The map that `tutti topo` draws of a host. Plain values, so that ranks can send them to each other; an unknown value
/// is empty, zero or -1.
namespace tutti::tools {

/// A device that ranks can be placed on: a sub-device, or a device without sub-devices.
struct MapDevice {
  std::string label;               ///< in the matrix: "GPU0.1" is sub-device 1 of the first GPU, "CPU0" a CPU
  std::vector<std::string> names;  ///< names for TUTTI_DEVICE; several modules may see one device
  std::string description;         ///< name given by its driver
  std::string vendor;
  std::string driver;
  std::string address;
  std::string uuid;
  std::string cpus;        ///< local CPUs
  std::string numa_nodes;  ///< local NUMA nodes
  std::uint64_t memory_bytes = 0;
  std::int64_t used_bytes = -1;
  std::uint32_t compute_units = 0;
  bool gpu = false;
  bool fake = false;  ///< a stand-in of the tests, not hardware
};

/// A device module and whether it is usable.
struct MapModule {
  std::string name;
  bool usable = false;
  std::string version;
  std::string reason;  ///< why it is not usable, or a remark on what it found
};

/// Path between two labels of the map.
struct MapLink {
  std::string from;
  std::string to;
  std::string path;       ///< as in the matrix and its legend
  double gb_per_s = 0.0;  ///< in one direction
};

/// Placement of a rank.
struct MapRank {
  int rank = 0;
  int local_rank = 0;
  std::string host;
  std::string device;  ///< as TUTTI_DEVICE takes it
  std::string label;   ///< of the device in the matrix; empty: the host
  int sharers = 1;     ///< ranks on that device
  std::string cpus;    ///< that the rank may use
  std::string reason;
};

struct HostMap {
  std::string host;
  std::string cpu;
  std::vector<NumaNode> numa_nodes;
  std::vector<MapModule> modules;
  std::vector<MapDevice> devices;
  std::vector<Nic> nics;
  std::vector<MapLink> links;  ///< every pair of labels, both directions
  std::vector<MapRank> ranks;
  std::vector<std::string> notes;  ///< caveats of the map
};

/// The map without ranks. Devices that several modules see at the same PCI address become one. `own`: the CPUs and NUMA
/// nodes of this process, which are the locality of a CPU device; empty: all of the host.
[[nodiscard]] HostMap make_map(std::string host, std::string cpu, const HostTree& tree,
                               std::span<const DeviceModuleInfo> modules, const Locality& own = {});

/// A rank that is placed on a device of the map.
[[nodiscard]] MapRank make_rank(const HostMap& map, int rank, int local_rank, const Placement& placement);

/// Path between two devices when no module reports a link between them; empty when unknown.
[[nodiscard]] std::string path_by_place(const MapDevice& from, const MapDevice& to, const HostTree& tree);

/// The entry of the matrix for two labels: "X" for equal labels, "?" for a pair that the map does not have.
[[nodiscard]] std::string_view path_between(const HostMap& map, std::string_view from, std::string_view to);

/// A line of the legend.
struct LegendEntry {
  std::string_view sign;     ///< "NV#"
  std::string_view meaning;  ///< the path that the sign stands for
};

/// The signs that occur in the maps, from far to near.
[[nodiscard]] std::vector<LegendEntry> legend(std::span<const HostMap> maps);

}  // namespace tutti::tools
