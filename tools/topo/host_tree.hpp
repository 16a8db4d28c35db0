#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

/// A NUMA node: memory and its local CPUs.
struct NumaNode {
  int node = 0;
  std::string cpus;  ///< "0-5,12-17"
  std::uint64_t memory_bytes = 0;
};

/// A network adapter on the PCI bus.
struct Nic {
  std::string label;  ///< in the map: "NIC0"
  std::string name;   ///< given by the system: "eth0", "mlx5_0, ib0"
  std::string address;
  std::string cpus;        ///< local CPUs
  std::string numa_nodes;  ///< local NUMA nodes: "0"
};

/// The CPUs and NUMA nodes local to a device; empty when unknown.
struct Locality {
  std::string cpus;
  std::string numa_nodes;
};

/// NUMA nodes and PCI devices of a host, and the paths between its PCI devices.
class HostTree {
 public:
  HostTree() = default;
  virtual ~HostTree() = default;
  HostTree(const HostTree&) = delete;
  HostTree& operator=(const HostTree&) = delete;

  /// Sorted by number; never empty.
  [[nodiscard]] virtual std::vector<NumaNode> numa_nodes() const = 0;
  /// Sorted by address.
  [[nodiscard]] virtual std::vector<Nic> nics() const = 0;
  /// Locality of the device at a PCI address; empty when unknown.
  [[nodiscard]] virtual Locality locality(const std::string& address) const = 0;
  /// Path between the devices at two PCI addresses: PIX, PXB, PHB, NODE or SYS, as in the legend of the map; empty when
  /// either device is not in the tree.
  [[nodiscard]] virtual std::string_view path(const std::string& from, const std::string& to) const = 0;
};

/// Tree of this machine. Built without hwloc, it has only CPUs and memory. Throws std::runtime_error when hwloc fails.
[[nodiscard]] std::unique_ptr<HostTree> this_host_tree();

/// Tree of the machine described by hwloc XML (lstopo --of xml). Throws std::runtime_error when the text is not hwloc
/// XML or tutti was built without hwloc.
[[nodiscard]] std::unique_ptr<HostTree> host_tree_from_xml(const std::string& xml);

/// The CPUs that the calling thread may use: "0-5,12-17".
[[nodiscard]] std::string current_cpus();

}  // namespace tutti::tools
