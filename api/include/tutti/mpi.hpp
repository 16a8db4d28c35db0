#pragma once

#include <mpi.h>

#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/module.hpp"

/// For applications that use MPI themselves. Header-only: include it where mpi.h is at hand; tutti itself is not built
/// with any MPI.
namespace tutti::mpi {

/// The ABI of the mpi.h this file was compiled with: "openmpi", or "mpich" for MPICH, Intel MPI and others of that ABI.
#if defined(OPEN_MPI)
inline constexpr std::string_view kVariant = "openmpi";
#elif defined(MPICH) || defined(MPICH_VERSION) || defined(I_MPI_VERSION)
inline constexpr std::string_view kVariant = "mpich";
#else
#error "tutti/mpi.hpp knows the ABIs of Open MPI and of MPICH; this mpi.h is of neither"
#endif

/// A communicator of the ranks of `comm`, in their order. Collective over `comm`, which must be an intra-communicator;
/// MPI must be initialised, and must not be finalised before the result and its copies are gone. tutti works on a
/// duplicate, so its messages never meet the application's, and `comm` may be freed afterwards.
///
/// MPI carries out the operations, unless options.config names another backend for the same ranks. To use the result
/// from several threads at the same time as MPI itself, MPI must have been started with MPI_THREAD_MULTIPLE; from
/// another thread than MPI's main one, as tutti's own is for device memory, with MPI_THREAD_SERIALIZED.
///
/// Throws Error{backend_unavailable} when tutti has no module for this ABI, Error{invalid_usage} when MPI is not
/// running, Error{invalid_argument} for MPI_COMM_NULL.
[[nodiscard]] inline Communicator communicator(MPI_Comm comm, const CommunicatorOptions& options = {}) {
  if (comm == MPI_COMM_NULL) throw Error(ErrorCode::invalid_argument, "the MPI communicator is MPI_COMM_NULL", "mpi");
  return adopt({.backend = "mpi", .variant = kVariant, .object = &comm, .bytes = sizeof comm}, options);
}

}  // namespace tutti::mpi
