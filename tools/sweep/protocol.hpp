#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::tools {

/// First words of the lines that the ranks of a sweep send to the command that started them. CELL is the index of a
/// cell in the job; all numbers are separated by blanks.
enum class SweepWord : std::uint8_t {
  rank,      ///< "rank RANK DEVICE": first line of a rank
  process,   ///< "process RANK HOST PID THREADS": where the rank runs; sent again when the number of threads has grown
  library,   ///< "library RANK PATH": the library that was loaded; sent by rank 0
  setting,   ///< "setting RANK NAME=VALUE": a setting of the backend's library; sent by rank 0
  begin,     ///< "begin CELL": the rank starts a cell
  alive,     ///< "alive CELL": the cell takes long but goes on
  note,      ///< "note CELL TEXT": a remark for the table
  served,    ///< "served CELL LEAF": the leaf that carried the operation out; sent by rank 0
  emulated,  ///< "emulated CELL TEXT": how tutti builds the operation; sent by rank 0
  staged,    ///< "staged CELL": the data was copied through host memory
  counts,    ///< "counts CELL NUMBERS": what the counted calls cost on this rank, see to_text(CellCounts)
  observed,  ///< "observed CELL US...": times of the calls in which devices were observed
  device,    ///< "device CELL (CALLS US SPAN)...": work of the device in each of those calls
  steps,     ///< "steps CELL (US US)...": computation and call together, and the computation alone
  ok,        ///< "ok CELL US...": times of the calls; the results were right
  wrong,     ///< "wrong CELL TEXT": a result was wrong
  failed,    ///< "failed TEXT": last line of a rank that gives up
};

/// A line taken apart. `number` is the rank or the cell, 0 for `failed`.
struct SweepMessage {
  SweepWord word;
  std::size_t number = 0;
  std::string_view text = {};  ///< the rest of the line
};

[[nodiscard]] std::string encode(const SweepMessage& message);
/// Nothing for a line that is none of these.
[[nodiscard]] std::optional<SweepMessage> decode(std::string_view line);

}  // namespace tutti::tools
