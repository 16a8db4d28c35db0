#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/host_view.hpp"

namespace tutti::tools {

enum class FindingKind : std::uint8_t {
  failed,           ///< a communicator has failed on a rank
  gone,             ///< a rank's process has ended, or the rank has destroyed its communicator while others need it
  stopped,          ///< by a signal
  uninterruptible,  ///< a process waits in the kernel and cannot even be killed
  mismatch,         ///< ranks are in different operations with the same number
  behind,           ///< others wait for a rank
  cycle,            ///< ranks wait for each other
  absent,           ///< a communicator is being created and ranks are missing
  stalled,          ///< named tensors wait for a rank that has not submitted them
};

/// "stopped", "behind", ...: for JSON.
[[nodiscard]] std::string_view name(FindingKind kind) noexcept;

/// Something that keeps a job from going on.
struct Finding {
  FindingKind kind;
  std::string communicator;
  int rank = -1;  ///< of the job; -1: several, or unknown
  std::int64_t pid = 0;
  std::uint64_t operations_behind = 0;
  std::string text;  ///< a sentence without a full stop
};

/// The findings of a job, causes before consequences: a rank that is behind because it waits itself comes after the
/// rank that it waits for.
[[nodiscard]] std::vector<Finding> diagnose(const JobView& job, std::int64_t now_ns);

/// "ranks 0, 1 and 4", "rank 2".
[[nodiscard]] std::string rank_list(const std::vector<int>& ranks);

}  // namespace tutti::tools
