#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/record.hpp"

namespace tutti::replay {

/// Reads the record in `content`. Throws tutti::Error{invalid_argument} that names `file` and the line.
[[nodiscard]] JobRecord read_record(std::string_view content, std::string_view file);

/// The same for a file. Throws Error{system} if it cannot be read.
[[nodiscard]] JobRecord load_record(const std::string& path);

/// The message that a receive from any rank or of any tag got.
struct Meeting {
  std::uint64_t receive = 0;  ///< its number among these receives of the part, from 0
  std::int32_t from = 0;      ///< rank of the communicator
  std::int32_t tag = 0;
};

/// The part that one rank of a job left: a record with one sequence.
struct RecordPart {
  int rank = 0;
  int ranks = 0;            ///< of the job
  bool is_cut_off = false;  ///< the rank stopped recording before it ended; `problem` says why, if it knew
  std::string problem;
  std::vector<std::string> left_out;  ///< functions that the rank called and that no record can hold
  std::vector<Meeting> meetings;
  JobRecord record;
};

/// Reads a part. An unfinished last line and zeros behind it are left out: the rank was killed while it wrote.
[[nodiscard]] RecordPart read_part(std::string_view content, std::string_view file);
[[nodiscard]] RecordPart load_part(const std::string& path);

/// The content of a file. Throws Error{system}.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace tutti::replay
