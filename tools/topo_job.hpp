#pragma once

#include <vector>

#include "topo_map.hpp"
#include "tutti/communicator.hpp"

namespace tutti::tools {

/// The maps of all hosts of a job with its ranks, the same on every rank; the first rank of a host tells about it.
/// Collective; `here` is the map of the caller's host. Throws what Communicator::placement() throws.
[[nodiscard]] std::vector<HostMap> gather_maps(const Communicator& comm, const HostMap& here);

}  // namespace tutti::tools
