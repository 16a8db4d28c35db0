#pragma once

namespace tutti::common {

/// Variable by which Intel MPI chooses the algorithm of MPI_Iallgatherv, read when it starts.
///
/// Intel MPI 2021.18 waits for ever in its own choice, a ring, if the blocks together have more than about 100 KiB and
/// one of them has no or hardly any element (seen with 2 to 7 ranks of one host, and not with the blocking function).
/// Algorithm 4 completes, and moves large blocks faster.
inline constexpr const char* kIntelAllgathervVariable = "I_MPI_ADJUST_IALLGATHERV";
/// Algorithm 4 from 4 KiB on.
inline constexpr const char* kIntelAllgathervChoice = "4:4096-2147483647";

}  // namespace tutti::common
