#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace tutti::replay {

/// Facts that a replay of a record needs, found by going through it with all ranks before any of them starts.
struct ReplayPlan {
  int ranks = 0;
  std::vector<std::size_t> sequence_of;   ///< by rank
  std::vector<std::size_t> place_of;      ///< by rank: its place in Sequence::ranks
  std::vector<std::uint64_t> peak_bytes;  ///< by rank: buffers of the operations under way
  std::vector<std::uint64_t> operations;  ///< by rank: number of calls
  std::vector<double> gap_us;             ///< by rank: sum of the gaps
};

/// Goes through the record as `ranks` ranks would; messages are taken to be buffered. `ranks` 0: the record's own
/// number. Throws Error{invalid_argument} that names the first rank and operation that cannot end: ranks that call
/// different operations, messages that are never sent or never received.
[[nodiscard]] ReplayPlan check(const JobRecord& record, int ranks);

}  // namespace tutti::replay
