#pragma once

#include <mpi.h>

#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/module.hpp"

/// Interoperability with MPI applications. Header-only, needs mpi.h; libtutti itself is not built with MPI.
namespace tutti::mpi {

/// The ABI of the mpi.h this file was compiled with: "openmpi", or "mpich" for MPICH, Intel MPI and others of that ABI.
#if defined(OPEN_MPI)
inline constexpr std::string_view kVariant = "openmpi";
#elif defined(MPICH) || defined(MPICH_VERSION) || defined(I_MPI_VERSION)
inline constexpr std::string_view kVariant = "mpich";
#else
#error "tutti/mpi.hpp supports the ABIs of Open MPI and MPICH; this mpi.h has neither"
#endif

/// Creates a communicator of the ranks of `comm`, in their order. Collective over `comm`, which must be an
/// intra-communicator. MPI must be initialised, and must not be finalised before the result and its copies are
/// destroyed. tutti uses a duplicate of `comm`, so that its messages cannot match the application's; `comm` may be
/// freed after the call.
///
/// MPI carries out the operations, unless options.config names another backend for the same ranks. Calls on the result
/// that run concurrently with MPI calls of other threads need MPI_THREAD_MULTIPLE. Calls from a thread other than MPI's
/// main thread need MPI_THREAD_SERIALIZED; so does device memory, for which tutti uses a thread of its own.
///
/// Throws Error{backend_unavailable} if tutti has no module for this ABI, Error{invalid_usage} if MPI is not running,
/// Error{invalid_argument} for MPI_COMM_NULL.
[[nodiscard]] inline Communicator communicator(MPI_Comm comm, const CommunicatorOptions& options = {}) {
  if (comm == MPI_COMM_NULL) throw Error(ErrorCode::invalid_argument, "the MPI communicator is MPI_COMM_NULL", "mpi");
  return adopt({.backend = "mpi", .variant = kVariant, .object = &comm, .bytes = sizeof comm}, options);
}

}  // namespace tutti::mpi
