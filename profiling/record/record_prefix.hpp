#pragma once

#include <cstdint>

#include "record/record.hpp"

namespace tutti::replay {

/// The beginning of a record that all of its ranks share.
struct RecordPrefix {
  JobRecord record;
  std::uint64_t kept = 0;     ///< operations of all ranks in it
  std::uint64_t dropped = 0;  ///< operations behind it
};

/// Ends every rank before the first operation that lacks a partner: a collective that a member of the communicator did
/// not call, a message that was not sent or not received. Ranks that were killed while they were recorded leave such
/// operations. Throws Error{invalid_argument} if nothing is left.
[[nodiscard]] RecordPrefix common_prefix(JobRecord record);

}  // namespace tutti::replay
