#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

/// A part of the host's memory with the CPUs next to it.
struct NumaNode {
  int node = 0;
  std::string cpus;  ///< "0-5,12-17"
  std::uint64_t memory_bytes = 0;
};

/// A network adapter on the PCI bus.
struct Nic {
  std::string label;  ///< of the map: "NIC0"
  std::string name;   ///< as the system calls it: "eth0", "mlx5_0, ib0"
  std::string address;
  std::string cpus;        ///< next to it
  std::string numa_nodes;  ///< next to it: "0"
};

/// Which CPUs and NUMA nodes something is next to; empty where that is not known.
struct Locality {
  std::string cpus;
  std::string numa_nodes;
};

/// What the host is made of, and how far the devices on its PCI bus are from each other.
class HostTree {
 public:
  HostTree() = default;
  virtual ~HostTree() = default;
  HostTree(const HostTree&) = delete;
  HostTree& operator=(const HostTree&) = delete;

  /// In order of their numbers; never empty.
  [[nodiscard]] virtual std::vector<NumaNode> numa_nodes() const = 0;
  /// In order of their addresses.
  [[nodiscard]] virtual std::vector<Nic> nics() const = 0;
  /// Of the device at a PCI address.
  [[nodiscard]] virtual Locality locality(const std::string& address) const = 0;
  /// What lies between the devices at two PCI addresses: PIX, PXB, PHB, NODE or SYS, as in the legend of the map; empty
  /// when the tree does not have both.
  [[nodiscard]] virtual std::string_view path(const std::string& from, const std::string& to) const = 0;
};

/// Of this machine; knows the CPUs and the memory only where hwloc was missing when the command was built.
[[nodiscard]] std::unique_ptr<HostTree> this_host_tree();

/// Of the machine that an XML of hwloc (lstopo --of xml) describes. Throws std::runtime_error when it is none, or where
/// hwloc was missing.
[[nodiscard]] std::unique_ptr<HostTree> host_tree_from_xml(const std::string& xml);

/// The CPUs that the calling thread may use: "0-5,12-17".
[[nodiscard]] std::string current_cpus();

}  // namespace tutti::tools
