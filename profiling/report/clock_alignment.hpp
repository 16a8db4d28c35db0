#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/profile.hpp"

namespace tutti::profiling {

/// Shift of the times of processes that share a clock.
struct ClockShift {
  std::string host;
  std::vector<int> processes;
  std::int64_t shift_ns = 0;      ///< was added to the realtime offset of its processes
  std::int64_t precision_ns = 0;  ///< the true shift differs by this at most; INT64_MAX: unknown
};

/// Result of align_clocks().
struct ClockAlignment {
  std::size_t operations = 0;      ///< collectives by which clocks were compared
  std::vector<ClockShift> shifts;  ///< of clocks that were off
  bool contradictory = false;      ///< no constant shifts satisfy all operations; nothing was shifted
};

/// Corrects ProcessRow::realtime_offset where collectives show that clocks of hosts are off: nobody may leave an
/// allreduce, allgather, alltoall, reduce_scatter or barrier before the last rank has arrived. Processes of a host
/// share a clock and get the same offset. A clock that no collective contradicts stays as it is; another one is put
/// into the middle of the bounds that the collectives leave, relative to the clock of the lowest rank. Adds a warning
/// to the profile for each shift, and where the operations contradict each other, as those of clocks that drift do.
ClockAlignment align_clocks(Profile& profile);

}  // namespace tutti::profiling
