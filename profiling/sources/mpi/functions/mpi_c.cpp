#include "mpi/functions/mpi_wrappers.hpp"

// The functions of MPI 3.1 in C, which every MPI library has.
namespace tutti::profiling::mpi {

#define TUTTI_MPI_C_3(Name, count) TUTTI_MPI_C_FUNCTION(MPI_##Name, Name, count, Binding::c)
#define TUTTI_MPI_C_4(Name, count)
#define TUTTI_MPI(version, forms, Name, name, count, ...) TUTTI_MPI_C_##version(Name, count)
#include "base/mpi/mpi_functions.def"

}  // namespace tutti::profiling::mpi
