#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/device.hpp"
#include "tutti/export.hpp"
#include "tutti/info/device_info.hpp"

namespace tutti {

namespace spi {
struct Peers;
}

/// The ranks of one host, as placement needs them.
struct LocalRanks {
  int rank = 0;  ///< this rank, counted within the host
  /// NUMA node of each rank of the host; -1 if the rank's CPUs are on several nodes or the node is unknown.
  std::vector<int> numa_nodes = {-1};
};

/// The device assigned to a rank.
struct Placement {
  Device device;
  int ranks = 1;       ///< number of ranks of the host on this device, if all see the same devices as this rank
  std::string reason;  ///< one sentence: why this device
};

/// Selects the devices of a module that ranks are placed on: the sub-devices of a device that has some, otherwise the
/// device itself; only GPUs if there are any. Keeps the order, so that neighbours are on the same card.
[[nodiscard]] TUTTI_API std::vector<DeviceInfo> placeable(std::span<const DeviceInfo> devices);

/// Distributes the ranks of a host over the devices `leaves`; element r is for local rank r. A rank gets the first free
/// device on its own NUMA node, otherwise the first free device; ranks with an unknown node fill card after card. Once
/// all devices are taken, all count as free again. Throws Error{invalid_argument} if `leaves` is empty.
[[nodiscard]] TUTTI_API std::vector<Placement> place(std::span<const DeviceInfo> leaves,
                                                     std::span<const int> rank_numa_nodes);

/// place() according to TUTTI_DEVICE:
/// - "MODULE:INDEX", "MODULE:INDEX.SUB" or "host": this device. A comma-separated list is assigned by local rank.
/// - "MODULE": the devices of this module.
/// - "auto": the devices of `module`; if `module` is empty, the GPUs of the first module that has any, else the host.
///
/// `module` is the device module whose memory and streams the caller can use, "" if it can use any. Starts device
/// runtimes. Throws Error{config} if TUTTI_DEVICE or `module` names a device or module that does not exist (the message
/// lists the existing ones) or TUTTI_DEVICE names another module than `module`, and Error{backend_unavailable} with the
/// reason if the module is not usable.
[[nodiscard]] TUTTI_API std::vector<Placement> placements(std::span<const int> rank_numa_nodes,
                                                          std::string_view module = {}, const Config& config = {});

/// The element of placements() for `ranks.rank`; also throws Error{invalid_argument} if that is out of range.
[[nodiscard]] TUTTI_API Placement placement(const LocalRanks& ranks, std::string_view module = {},
                                            const Config& config = {});

/// The ranks of a group that are on this rank's host.
[[nodiscard]] TUTTI_API LocalRanks local_ranks(const spi::Peers& peers);

/// NUMA node of the calling thread's CPUs; -1 if they are on several nodes or the node is unknown.
[[nodiscard]] TUTTI_API int current_numa_node();

}  // namespace tutti
