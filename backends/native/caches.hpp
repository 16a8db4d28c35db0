#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::native {

/// The caches of a core, in bytes.
struct CacheSizes {
  std::size_t level2;
  std::size_t last_level;
  int last_level_cores = 1;  ///< that share one
  int cores = 1;             ///< of the machine

  /// Results of more than this many bytes on each of so many ranks are better written past the caches: they and as much
  /// input of all ranks that share a last level exceed it.
  [[nodiscard]] std::uint64_t streaming_from(int ranks) const noexcept;
};

/// What the kernel says of the core of the first caller, or usual values where it says nothing. Not sysconf(): in
/// virtual machines that is the sum over all caches of the host. Not hwloc: its plug-ins would bring the runtimes of
/// all accelerators into every process.
[[nodiscard]] CacheSizes cache_sizes();

/// The same below another folder than /sys/devices/system/cpu/cpuN/cache.
[[nodiscard]] CacheSizes cache_sizes(const std::string& folder);

}  // namespace tutti::native
