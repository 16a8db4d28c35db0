#include "mpi/functions/mpi_wrappers.hpp"

// The forms of MPI 4 for large counts.
namespace tutti::profiling::mpi {

#define TUTTI_MPI_FORM_classic(Name, count)
#define TUTTI_MPI_FORM_large(Name, count) TUTTI_MPI_C_FUNCTION(MPI_##Name##_c, Name, count, Binding::large)
#define TUTTI_MPI(version, forms, Name, name, count, ...) TUTTI_MPI_FORM_##forms(Name, count)
#include "base/mpi/mpi_functions.def"

}  // namespace tutti::profiling::mpi
