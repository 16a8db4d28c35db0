#include <gtest/gtest.h>

#include <stdexcept>

#include "topo/host_tree.hpp"
#include "topo/topo_map.hpp"

namespace tutti::tools {
namespace {

TEST(PlainHostTree, IsOneNodeAndDoesNotKnowPaths) {
  const auto tree = this_host_tree();
  const std::vector<NumaNode> nodes = tree->numa_nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].cpus, current_cpus());
  EXPECT_GT(nodes[0].memory_bytes, 0u);
  EXPECT_TRUE(tree->nics().empty());
  EXPECT_EQ(tree->path("0000:00:01.0", "0000:00:02.0"), "");
  EXPECT_THROW((void)host_tree_from_xml("<topology/>"), std::runtime_error);
}

TEST(PlainHostTree, StillMakesAMap) {
  DeviceModuleInfo module;
  module.name = "cards";
  module.usable = true;
  for (std::int16_t index = 0; index < 2; ++index) {
    DeviceInfo card;
    card.device = Device(5, index);
    card.address = index == 0 ? "0000:03:00.0" : "0000:04:00.0";
    card.is_gpu = true;
    card.numa_node = 0;
    module.devices.push_back(card);
  }
  const HostMap map = make_map("host", "CPU", *this_host_tree(), std::vector{module});
  EXPECT_EQ(path_between(map, "GPU0", "GPU1"), "?");
  EXPECT_EQ(map.devices[0].cpus, current_cpus()) << "the CPUs must be those of the NUMA node that the module reports";
}

}  // namespace
}  // namespace tutti::tools
