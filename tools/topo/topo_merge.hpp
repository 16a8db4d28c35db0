#pragma once

#include <span>

#include "topo/topo_map.hpp"

namespace tutti::tools {

/// Merges the maps that the ranks of one host have made. A rank may see only some devices, under its own names and
/// labels. The merged map has each physical device once, with one label and the number of ranks on it. `maps` must not
/// be empty; `tree` is the tree of the host.
[[nodiscard]] HostMap merge_maps(std::span<const HostMap> maps, const HostTree& tree);

}  // namespace tutti::tools
