// HostTree without hwloc: one NUMA node with all CPUs and all memory, no PCI devices.
#include <stdexcept>

#include "machine.hpp"
#include "topo/host_tree.hpp"

namespace tutti::tools {
namespace {

class PlainTree final : public HostTree {
 public:
  [[nodiscard]] std::vector<NumaNode> numa_nodes() const override {
    return {{.node = 0, .cpus = current_cpus(), .memory_bytes = this_machine().memory_bytes}};
  }
  [[nodiscard]] std::vector<Nic> nics() const override { return {}; }
  [[nodiscard]] Locality locality(const std::string& /*address*/) const override { return {}; }
  [[nodiscard]] std::string_view path(const std::string& /*from*/, const std::string& /*to*/) const override {
    return {};
  }
};

}  // namespace

std::unique_ptr<HostTree> this_host_tree() { return std::make_unique<PlainTree>(); }

std::unique_ptr<HostTree> host_tree_from_xml(const std::string& /*xml*/) {
  throw std::runtime_error("cannot read hwloc XML: tutti was built without hwloc");
}

}  // namespace tutti::tools
