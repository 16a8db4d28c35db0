#pragma once

#include <vector>

#include "topo/topo_map.hpp"
#include "tutti/communicator.hpp"

namespace tutti::tools {

/// Maps of all hosts of a job with their ranks, the same on every rank. The map of a host merges the views of its
/// ranks. Collective and blocking. `here` is the map of the caller's host, made from `tree`. Throws the errors of
/// Communicator::placement().
[[nodiscard]] std::vector<HostMap> gather_maps(const Communicator& comm, HostMap here, const HostTree& tree);

}  // namespace tutti::tools
