#include "wrappers.hpp"

// Fortran, whose argument ierror is optional in mpi_f08. Open MPI's bindings call PMPI_* and are seen here only.
namespace tutti::adapters::mpi {

#define TUTTI_MPI_SUBROUTINES(Name, name, count)                \
  TUTTI_MPI_SUBROUTINE(name##_, Name, count, Binding::fortran)  \
  TUTTI_MPI_SUBROUTINE(name##__, Name, count, Binding::fortran) \
  TUTTI_MPI_SUBROUTINE(name##_f08_, Name, count, Binding::fortran)
#define TUTTI_MPI(version, forms, Name, name, count, kind, ...) \
  TUTTI_MPI_IF_##kind(TUTTI_MPI_SUBROUTINES(Name, mpi_##name, count))
#include "base/mpi/mpi_functions.def"

namespace {

template <typename Function, typename... Words>
void begin_by(RealFunction<Function>& real, const void* caller, int* ierror, Words... words) {
  const auto next = real.get(caller);
  if (next == nullptr) return;
  next(words..., ierror);
  if (ierror == nullptr || *ierror == 0) begin();
}

void end_by(RealFunction<void (*)(int*)>& real, const void* caller, int* ierror) {
  end();
  if (const auto next = real.get(caller); next != nullptr) next(ierror);
}

}  // namespace

#define TUTTI_MPI_LIFETIME(suffix)                                                             \
  TUTTI_MPI_EXPORT void mpi_init##suffix(int* ierror) {                                        \
    static constinit RealFunction<void (*)(int*)> real{"mpi_init" #suffix};                    \
    begin_by(real, __builtin_return_address(0), ierror);                                       \
  }                                                                                            \
  TUTTI_MPI_EXPORT void mpi_init_thread##suffix(Word required, Word provided, int* ierror) {   \
    static constinit RealFunction<void (*)(Word, Word, int*)> real{"mpi_init_thread" #suffix}; \
    begin_by(real, __builtin_return_address(0), ierror, required, provided);                   \
  }                                                                                            \
  TUTTI_MPI_EXPORT void mpi_finalize##suffix(int* ierror) {                                    \
    static constinit RealFunction<void (*)(int*)> real{"mpi_finalize" #suffix};                \
    end_by(real, __builtin_return_address(0), ierror);                                         \
  }
TUTTI_MPI_LIFETIME(_)
TUTTI_MPI_LIFETIME(__)
TUTTI_MPI_LIFETIME(_f08_)

}  // namespace tutti::adapters::mpi
