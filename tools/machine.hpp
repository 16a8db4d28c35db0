#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::tools {

struct CacheInfo {
  std::string name;  ///< "L1d", "L2", "L3"
  std::uint64_t bytes = 0;
  int shared_by = 1;  ///< hardware threads
};

/// Facts about the host that affect speed.
struct MachineInfo {
  std::string cpu;
  int cores = 1;  ///< hardware threads that this process may use
  int cores_online = 1;
  int numa_nodes = 1;
  std::vector<CacheInfo> caches;
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< usable without swapping, within the limits of the control groups
};

/// Reads /proc and /sys; a field that cannot be read keeps its default.
[[nodiscard]] MachineInfo this_machine();

/// The number after "NAME:" in a text of the format of /proc/meminfo, in bytes; 0 when the name is absent.
[[nodiscard]] std::uint64_t meminfo_value(const std::string& meminfo, const std::string& name);

}  // namespace tutti::tools
