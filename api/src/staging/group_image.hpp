#pragma once

#include <memory>
#include <span>
#include <vector>

#include "staging/staging_areas.hpp"
#include "tutti/spi/capabilities.hpp"

namespace tutti {

/// Host memory that stands in for the device memory of the operations of a group, while a backend that takes only host
/// memory carries the group out.
class GroupImage {
 public:
  /// Waits for the operations' streams, copies their inputs to the host and lets the operations that need staging refer
  /// to the copies.
  GroupImage(StagingAreas& areas, const spi::Capabilities& capabilities, int ranks, std::span<Operation> ops);
  /// Copies the results to the devices; returns when they are there.
  void deliver();

 private:
  struct Entry {
    std::shared_ptr<StagingArea> area;
    std::unique_ptr<StagingSlot> slot;  ///< null: the host can reach the memory itself
    Operation whole;
  };
  std::vector<Entry> entries_;
};

}  // namespace tutti
