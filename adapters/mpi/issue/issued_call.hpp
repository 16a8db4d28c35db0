#pragma once

#include "served_call.hpp"

/// Non-blocking collectives: the program gets a generalized request of MPI, with which its MPI_Wait, MPI_Test and so on
/// work as with any other, also in one list. MPI allows its completion by another thread with MPI_THREAD_MULTIPLE only.
namespace tutti::adapters::mpi {

/// Whether a function is the non-blocking form of a collective.
[[nodiscard]] constexpr bool is_issue(Row row) noexcept { return mpi_table::function(row).at.request >= 0; }

/// Puts a call that was judged suitable into the queue of its communicator and gives the program a request. The request
/// gets an error of the operation. Throws Error{system} if MPI makes no request or no thread can be started.
void issue(Row row, mpi_table::Binding binding, const Word* words, Group& group);

}  // namespace tutti::adapters::mpi
