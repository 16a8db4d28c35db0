#include "mpi/functions/mpi_wrappers.hpp"

// The functions that came with MPI 4, in C and Fortran, without the forms for large counts.
namespace tutti::profiling::mpi {

#define TUTTI_MPI_ALL_3(Name, name, count)
#define TUTTI_MPI_ALL_4(Name, name, count)                  \
  TUTTI_MPI_C_FUNCTION(MPI_##Name, Name, count, Binding::c) \
  TUTTI_MPI_SUBROUTINES(Name, mpi_##name, count)
#define TUTTI_MPI(version, forms, Name, name, count, ...) TUTTI_MPI_ALL_##version(Name, name, count)
#include "base/mpi/mpi_functions.def"

}  // namespace tutti::profiling::mpi
