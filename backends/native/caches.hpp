#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::native {

/// Cache sizes of a core, in bytes.
struct CacheSizes {
  std::size_t level2;
  std::size_t last_level;
  int last_level_cores = 1;  ///< cores that share a last-level cache
  int cores = 1;             ///< cores of the machine

  /// Result size per rank, in bytes, above which results are better written past the caches: the results and as many
  /// bytes of input of all ranks that share a last-level cache exceed it.
  [[nodiscard]] std::uint64_t streaming_from(int ranks) const noexcept;
};

/// Cache sizes that the kernel reports for the core of the first caller; typical values where it reports none. Not from
/// sysconf(), which in virtual machines gives the sum over all caches of the host. Not from hwloc, whose plug-ins would
/// load the runtimes of all accelerators into every process.
[[nodiscard]] CacheSizes cache_sizes();

/// Reads the sizes from `folder` instead of /sys/devices/system/cpu/cpuN/cache.
[[nodiscard]] CacheSizes cache_sizes(const std::string& folder);

}  // namespace tutti::native
