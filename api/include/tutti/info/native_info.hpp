#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

/// Sizes of an operation that the native engine carries out in the same way.
struct NativeWay {
  OpKind kind = OpKind::allreduce;  ///< `send` stands for messages
  /// Bytes that a rank gives in, or all blocks together where it gives one for each rank. Both are powers of two; all
  /// sizes between them are carried out in the same way, and those up to the next way begin with this one.
  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = 0;
  std::string_view ordinary;         ///< memory of several processes: "mailbox" or "rings"
  std::string_view reached;          ///< memory that all ranks reach: "mailbox", "rings" or "direct"
  std::uint64_t shortest_chunk = 0;  ///< in rings; 0 without rings
  std::uint64_t longest_chunk = 0;
};

/// Measured times of a chunk from a writer to a reader, through a ring.
struct NativeMove {
  std::uint64_t chunk_bytes = 0;
  double through_us = 0;  ///< written through the caches
  double past_us = 0;     ///< written past them
};

/// Decisions of the native engine for a number of ranks on this machine.
struct NativeInfo {
  int ranks = 0;
  std::uint64_t ring_bytes = 0;         ///< data in the ring of a pair of ranks
  std::uint64_t past_caches_above = 0;  ///< longer results are written past the caches
  bool direct = false;                  ///< the setting TUTTI_NATIVE_DIRECT
  std::vector<NativeWay> ways;          ///< by operation, then by size
  std::vector<NativeMove> moves;        ///< empty where only one core may be used
  bool steady = true;                   ///< whether other programs left `moves` alone
};

/// The decisions of the engine for communicators of `ranks` ranks. Measures between the first and the last core that
/// this process may use, for less than 2 ms unless other programs disturb it; communicators measure for themselves
/// while they run, because the distance of the cores may change. Blocks, in one more thread. Throws
/// Error{invalid_argument} for less than 2 ranks, and Error{system} if there is no memory.
[[nodiscard]] TUTTI_API NativeInfo native_info(int ranks, const Config& config = {});

}  // namespace tutti
