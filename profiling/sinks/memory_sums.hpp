#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/profile.hpp"
#include "sinks/split_keys.hpp"

namespace tutti::profiling {

/// Memory of an owner in one place, of all processes.
struct OwnedMemory {
  std::string owner;
  std::string place;  ///< "host" or the name of a device
  std::uint64_t allocations = 0, allocated = 0, releases = 0, released = 0;
  std::uint64_t held = 0;  ///< summed per process: one process's release is not another's
  std::uint64_t peak = 0;  ///< of the process with the highest
};

/// Memory that an owner allocated on behalf of an operation.
struct OperationMemory {
  SplitValue operation;
  SplitValue size;
  std::string owner;
  std::uint64_t allocations = 0, allocated = 0, releases = 0, released = 0;
};

/// By descending allocated bytes.
[[nodiscard]] std::vector<OwnedMemory> memory_by_owner(const Profile& profile);

/// By operation, size and owner.
[[nodiscard]] std::vector<OperationMemory> memory_by_operation(const Profile& profile);

}  // namespace tutti::profiling
