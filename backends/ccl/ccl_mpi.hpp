#pragma once

#include <string>

#include "ccl_library.hpp"

/// oneCCL's transport over MPI. Its users start oneCCL by Intel MPI, and then it sends through that.
namespace tutti::ccl {

/// Whether the launcher of Intel MPI started this process. The launcher of MPICH, from which Intel's descends, sets the
/// rank in the same variables, but none that begins with I_MPI_.
[[nodiscard]] bool is_started_by_intel_mpi(const EnvironmentLookup& environment);

/// The files that may be Intel MPI's library, in order: below I_MPI_ROOT, then beside oneCCL in `directory`.
[[nodiscard]] std::vector<std::string> mpi_candidates(const std::string& directory,
                                                      const EnvironmentLookup& environment);

/// File of the Intel MPI that oneCCL can send through: the one in this process, else the first candidate that exists.
/// Empty if there is none, if the process has another MPI, or if MPI is running without MPI_THREAD_MULTIPLE. Opens
/// nothing.
[[nodiscard]] std::string find_intel_mpi(const std::string& directory, const EnvironmentLookup& environment);

}  // namespace tutti::ccl
