#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/host_tree.hpp"
#include "tutti/device_info.hpp"
#include "tutti/placement.hpp"

/// The map that `tutti topo` draws of a host. Plain values, so that ranks can send them to each other; what is not
/// known is empty, zero or -1.
namespace tutti::tools {

/// What ranks can be placed on: a device without parts or a part of one.
struct MapDevice {
  std::string label;               ///< in the matrix: "GPU0.1" is part 1 of the first GPU, "CPU0" a CPU
  std::vector<std::string> names;  ///< as device modules call it: the same thing may be seen by several
  std::string description;         ///< as its driver calls it
  std::string vendor;
  std::string driver;
  std::string address;
  std::string uuid;
  std::string cpus;        ///< next to it
  std::string numa_nodes;  ///< next to it
  std::uint64_t memory_bytes = 0;
  std::int64_t used_bytes = -1;
  std::uint32_t compute_units = 0;
  bool gpu = false;
  bool fake = false;  ///< a stand-in of the tests, not hardware
};

/// A device module and what became of it.
struct MapModule {
  std::string name;
  bool usable = false;
  std::string version;
  std::string reason;  ///< why not, or what was found
};

/// How two labels of the map reach each other.
struct MapLink {
  std::string from;
  std::string to;
  std::string path;       ///< as in the matrix and its legend
  double gb_per_s = 0.0;  ///< in one direction
};

/// Where a rank sits.
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
  std::vector<std::string> notes;  ///< what must be known to read the map
};

/// All but the ranks. Devices that several modules see at the same PCI address are one. `own` is where this process may
/// run: that is what the CPU is to it; empty: everywhere.
[[nodiscard]] HostMap make_map(std::string host, std::string cpu, const HostTree& tree,
                               std::span<const DeviceModuleInfo> modules, const Locality& own = {});

/// A rank that is placed on a device of the map.
[[nodiscard]] MapRank make_rank(const HostMap& map, int rank, int local_rank, const Placement& placement);

/// What the matrix shows for two devices of which no module tells how they are joined; empty: not known.
[[nodiscard]] std::string path_by_place(const MapDevice& from, const MapDevice& to, const HostTree& tree);

/// What the matrix shows for two labels; "X" for the same, "?" for a pair that the map does not have.
[[nodiscard]] std::string_view path_between(const HostMap& map, std::string_view from, std::string_view to);

/// A line of the legend.
struct LegendEntry {
  std::string_view sign;     ///< "NV#"
  std::string_view meaning;  ///< what the pair's traffic crosses
};

/// Those signs that occur in the maps, from far to near.
[[nodiscard]] std::vector<LegendEntry> legend(std::span<const HostMap> maps);

}  // namespace tutti::tools
