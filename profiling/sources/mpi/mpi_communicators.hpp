#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mpi/mpi_library.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::mpi {

/// A communicator of the program. Its key is the same on all members without a message between them: it follows from
/// the key of its parent, the members' ranks in MPI_COMM_WORLD, and how many communicators with these members were made
/// from this parent before; members take part in all of those, in the same order.
struct Communicator {
  std::uint64_t key = 0;
  std::uint64_t members = 0;
  int rank = 0;         ///< among all members; those of an inter-communicator's other group included
  int size = 1;         ///< the same
  int group_rank = 0;   ///< in the own group
  int group_size = 1;   ///< of the own group
  int remote_size = 0;  ///< of the other group of an inter-communicator
  std::atomic<int> out_neighbors{-1};
  std::atomic<CommunicatorId> id{0};
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint32_t> record_number{0};  ///< in the part of a record; 0: not yet described there

  /// Ranks that a collective's blocks belong to.
  [[nodiscard]] int peers() const noexcept { return remote_size > 0 ? remote_size : group_size; }
};

/// The communicator of a handle; null for MPI_COMM_NULL. One that was made while nobody watched is taken in now.
[[nodiscard]] Communicator* communicator_of(Word handle) noexcept;
/// Notes a new communicator. `tag`: distinguishes communicators that are made without a parent.
void note_created(Word handle, const Communicator* parent, std::string_view tag = {}) noexcept;
/// Notes a duplicate that may not be asked for anything yet.
void note_duplicate(Word handle, const Communicator* parent) noexcept;
/// Forgets a communicator before MPI frees it.
void forget_communicator(Word handle) noexcept;

/// Its number in the session.
[[nodiscard]] CommunicatorId session_id(Communicator& communicator, Word handle) noexcept;
/// Outgoing neighbours in its topology; 0 without.
[[nodiscard]] int out_neighbors(Communicator& communicator, Word handle) noexcept;
/// Rank and size in MPI_COMM_WORLD, or in the session's set "mpi://WORLD".
struct WorldPlace {
  int rank = 0;
  int size = 1;
};
/// Nothing if MPI does not tell.
[[nodiscard]] std::optional<WorldPlace> world_place() noexcept;
/// Tells the session rank and size in MPI_COMM_WORLD, or in the session's set "mpi://WORLD".
void tell_rank() noexcept;

}  // namespace tutti::profiling::mpi
