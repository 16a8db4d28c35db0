#pragma once

#include "base/mpi/handle_table.hpp"
#include "base/mpi/mpi_arguments.hpp"
#include "base/mpi/pmpi.hpp"

/// The process's MPI library, as the source follows its beginning and end.
namespace tutti::profiling::mpi {

using interpose::RealFunction;
using mpi_table::abi;
using mpi_table::Arguments;
using mpi_table::Binding;
using mpi_table::handle_at;
using mpi_table::handle_of;
using mpi_table::HandleTable;
using mpi_table::Word;
namespace pmpi = mpi_table::pmpi;

/// "mpi:openmpi", "mpi:mpich", "mpi:intel", or "mpi".
[[nodiscard]] const char* backend_name() noexcept;

/// Whether MPI may be asked now: between the beginning and the end of MPI, or of a session of it.
[[nodiscard]] bool is_usable() noexcept;
void began() noexcept;
void ends() noexcept;
/// Session_init and Session_finalize.
void session_began(Word session) noexcept;
void session_ends() noexcept;
/// The last session that was begun, 0 without.
[[nodiscard]] Word open_session() noexcept;

}  // namespace tutti::profiling::mpi
