#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "report/profile.hpp"
#include "sinks/split_keys.hpp"

namespace tutti::profiling {

/// Operations and everything that was recorded on their behalf.
struct OperationSum {
  Statistics operations;
  std::uint64_t host_calls = 0, host_ns = 0, errors = 0;
  std::uint64_t device_ns = 0, traffic = 0, allocated = 0;

  void add(const TallyRow& row);
  void add(const OperationSum& other);
  /// The time by which sums are ordered.
  [[nodiscard]] std::uint64_t weight() const noexcept {
    return operations.total != 0 ? operations.total : host_ns + device_ns;
  }
  /// Of the operations that succeeded; 0 without.
  [[nodiscard]] double average_ns() const noexcept;
};

/// Values of the fields by which operations are split, in the order of the fields.
using SplitKey = std::vector<SplitValue>;

/// The rows of a profile summed per value of the fields, in the order of tables: sizes, ranks and devices ascend, other
/// fields by descending time of all sums that share the fields up to there.
[[nodiscard]] std::vector<std::pair<SplitKey, OperationSum>> operation_sums(const Profile& profile,
                                                                            const std::vector<SplitBy>& by);

}  // namespace tutti::profiling
