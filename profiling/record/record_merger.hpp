#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/record_reader.hpp"

namespace tutti::replay {

/// Begin of the names of parts that hold a program's calls of MPI.
inline constexpr const char* kMpiParts = "mpi-";

struct MergedRecord {
  JobRecord record;
  std::vector<std::string> warnings;  ///< ranks whose part is missing or incomplete, for people
};

/// Makes one record of the parts of all ranks. Ranks with equal events get one sequence. Throws
/// Error{invalid_argument} if the parts are not those of one job.
[[nodiscard]] MergedRecord merge(std::vector<RecordPart> parts);

/// The same for all parts in a folder; those of MPI count where no part was left by tutti. Parts that cannot be read
/// become warnings. Throws Error{system} if there is none.
[[nodiscard]] MergedRecord merge_folder(const std::string& folder);

}  // namespace tutti::replay
