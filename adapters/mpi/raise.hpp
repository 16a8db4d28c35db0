#pragma once

#include "base/mpi/mpi_abi.hpp"

namespace tutti::adapters::mpi {

/// An error code of MPI for a failure of tutti, with its text.
[[nodiscard]] int error_code(const char* text) noexcept;
/// Gives a failure of tutti to the communicator's error handler, as MPI does with its own; returns the code if the
/// handler returns.
int raise(mpi_table::Word comm, const char* text) noexcept;

}  // namespace tutti::adapters::mpi
