#pragma once

#include "tutti/work.hpp"

namespace tutti::adapters::mpi {

/// Waits for an operation of tutti and meanwhile drives MPI: another rank may wait for a message that this rank has
/// begun to send, and comes to the operation only when it has it. Throws the operation's Error.
void complete(Work work);

/// Drives MPI once.
void drive_mpi() noexcept;
/// From now on complete() does not drive MPI in this thread: the program's threads do, and one that waits in MPI holds
/// its lock most of the time.
void leave_mpi_to_others() noexcept;

/// Makes what complete() needs; after MPI has begun. Local.
void prepare_progress() noexcept;
/// Before MPI ends.
void end_progress() noexcept;

}  // namespace tutti::adapters::mpi
