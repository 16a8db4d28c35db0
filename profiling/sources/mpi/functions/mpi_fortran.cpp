#include "mpi/functions/mpi_wrappers.hpp"

// Fortran: Open MPI's bindings call PMPI_* and are seen here only; those of MPICH and Intel MPI call MPI_* as a rule,
// which is then a nested call.
namespace tutti::profiling::mpi {

#define TUTTI_MPI_FORTRAN_SET_3(Name, name, count) TUTTI_MPI_SUBROUTINES(Name, mpi_##name, count)
#define TUTTI_MPI_FORTRAN_SET_4(Name, name, count)
#define TUTTI_MPI(version, forms, Name, name, count, ...) TUTTI_MPI_FORTRAN_SET_##version(Name, name, count)
#include "base/mpi/mpi_functions.def"

}  // namespace tutti::profiling::mpi
