#pragma once

#include <vector>

#include "topo/topo_map.hpp"
#include "tutti/communicator.hpp"

namespace tutti::tools {

/// The maps of all hosts of a job with its ranks, the same on every rank; of each host what its ranks see together.
/// Collective; `here` is the map of the caller's host and `tree` what it was made from. Throws what
/// Communicator::placement() throws.
[[nodiscard]] std::vector<HostMap> gather_maps(const Communicator& comm, HostMap here, const HostTree& tree);

}  // namespace tutti::tools
