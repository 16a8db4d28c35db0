#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/observer.hpp"

namespace tutti {

/// Facts about a communicator for observers, kept for those that are added later.
struct LiveCommunicator {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::uint64_t key = 0;
  std::string name;
  std::string backend;
  int rank = 0;
  int size = 0;
  std::vector<std::string> hosts;
};

/// Records the creation and the destruction of a communicator. Thread-safe.
void report_created(LiveCommunicator communicator);
void report_destroyed(std::uint64_t id) noexcept;

}  // namespace tutti
