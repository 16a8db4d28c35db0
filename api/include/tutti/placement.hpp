#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/device.hpp"
#include "tutti/device_info.hpp"
#include "tutti/export.hpp"

namespace tutti {

namespace spi {
struct Peers;
}

/// The ranks that share a host, as far as placement looks at them.
struct LocalRanks {
  int rank = 0;  ///< this one, counted within the host
  /// Of each rank of the host: the NUMA node that all its CPUs belong to; -1 when they are on several or it is not
  /// known.
  std::vector<int> numa_nodes = {-1};
};

/// The device that a rank is to compute on.
struct Placement {
  Device device;
  int ranks = 1;       ///< how many ranks of the host are placed on it if all see the devices that this one sees
  std::string reason;  ///< one sentence: why this one
};

/// Those of a module's devices that ranks are placed on: sub-devices where a device has them, the device itself
/// otherwise; only GPUs when there is any. In their order, so that neighbours are on the same card.
[[nodiscard]] TUTTI_API std::vector<DeviceInfo> placeable(std::span<const DeviceInfo> devices);

/// Distributes the ranks of a host over `leaves`, which must not be empty; element r is for local rank r. A rank takes
/// the first free one on its own NUMA node, else the first free one; ranks whose node is not known fill card after
/// card. When there are more ranks than leaves it starts over as often as needed.
[[nodiscard]] TUTTI_API std::vector<Placement> place(std::span<const DeviceInfo> leaves,
                                                     std::span<const int> rank_numa_nodes);

/// place() as TUTTI_DEVICE says:
/// - "MODULE:INDEX", "MODULE:INDEX.SUB" or "host": that one. A list with commas is dealt out by local rank.
/// - "MODULE": the devices of this module.
/// - "auto": those of `module`; without one the GPUs of the first module that has any, else the host.
///
/// `module` is the one whose memory and streams the caller can use, "" when it can use any. Starts runtimes. Throws
/// Error{config} that lists what there is when the setting names nothing here or is of another module, and
/// Error{backend_unavailable} with the reason when the module is not usable.
[[nodiscard]] TUTTI_API std::vector<Placement> placements(std::span<const int> rank_numa_nodes,
                                                          std::string_view module = {}, const Config& config = {});

/// The element of placements() for this rank.
[[nodiscard]] TUTTI_API Placement placement(const LocalRanks& ranks, std::string_view module = {},
                                            const Config& config = {});

/// Those of a group that are on this rank's host.
[[nodiscard]] TUTTI_API LocalRanks local_ranks(const spi::Peers& peers);

/// The NUMA node that all CPUs of the calling thread belong to; -1 when they are on several or it is not known.
[[nodiscard]] TUTTI_API int current_numa_node();

}  // namespace tutti
