#include "wrappers.hpp"

// The collectives of MPI 3.1 in C, and the functions with which MPI begins and ends.
namespace tutti::adapters::mpi {

#define TUTTI_MPI(version, forms, Name, name, count, kind, ...) \
  TUTTI_MPI_IF_##kind(TUTTI_MPI_C_FUNCTION(MPI_##Name, Name, count, Binding::c))
#include "base/mpi/mpi_functions.def"

namespace {

int note_begin(int error) noexcept {
  if (error == 0) begin();
  return error;
}

}  // namespace

TUTTI_MPI_EXPORT int MPI_Init(Word count, Word words) {
  static constinit RealFunction<int (*)(Word, Word)> real{"MPI_Init"};
  const auto next = real.get(__builtin_return_address(0));
  return next == nullptr ? kNoFunction : note_begin(next(count, words));
}

TUTTI_MPI_EXPORT int MPI_Init_thread(Word count, Word words, Word required, Word provided) {
  static constinit RealFunction<int (*)(Word, Word, Word, Word)> real{"MPI_Init_thread"};
  const auto next = real.get(__builtin_return_address(0));
  return next == nullptr ? kNoFunction : note_begin(next(count, words, required, provided));
}

TUTTI_MPI_EXPORT int MPI_Finalize() {
  static constinit RealFunction<int (*)()> real{"MPI_Finalize"};
  end();
  const auto next = real.get(__builtin_return_address(0));
  return next == nullptr ? kNoFunction : next();
}

}  // namespace tutti::adapters::mpi
