#pragma once

#include <span>

#include "topo/topo_map.hpp"

namespace tutti::tools {

/// One map of a host from those that its ranks have made, each with its ranks. A rank may be shown a part of the
/// devices only, under names and labels of its own; here a device is known by what it physically is, labelled once, and
/// shared by the ranks that are on it. `maps` must not be empty; `tree` is that of the host.
[[nodiscard]] HostMap merge_maps(std::span<const HostMap> maps, const HostTree& tree);

}  // namespace tutti::tools
