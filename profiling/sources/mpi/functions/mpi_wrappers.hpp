#pragma once

#include "base/mpi/mpi_symbols.hpp"
#include "mpi/mpi_call.hpp"

// Definitions of exported functions from the table. Includers define TUTTI_MPI by these.

// A function of C: MPI_Name, or MPI_Name_c.
#define TUTTI_MPI_C_FUNCTION(Symbol, Name, count, binding)                                                  \
  TUTTI_MPI_EXPORT int Symbol(TUTTI_MPI_PARAMETERS_##count) {                                               \
    static constinit RealFunction<int (*)(TUTTI_MPI_TYPES_##count)> real{#Symbol};                          \
    return call<mpi_table::Row::Name, binding>(real, __builtin_return_address(0) TUTTI_MPI_VALUES_##count); \
  }

// A Fortran subroutine, of `count` words.
#define TUTTI_MPI_SUBROUTINE_(Symbol, Name, count, binding)                                                            \
  TUTTI_MPI_EXPORT void Symbol(TUTTI_MPI_JOIN(TUTTI_MPI_PARAMETERS_, count)) {                                         \
    static constinit RealFunction<void (*)(TUTTI_MPI_JOIN(TUTTI_MPI_TYPES_, count))> real{#Symbol};                    \
    call_fortran<mpi_table::Row::Name, binding>(real,                                                                  \
                                                __builtin_return_address(0) TUTTI_MPI_JOIN(TUTTI_MPI_VALUES_, count)); \
  }
#define TUTTI_MPI_SUBROUTINE(Symbol, Name, count, binding) \
  TUTTI_MPI_SUBROUTINE_(Symbol, Name, TUTTI_MPI_JOIN(TUTTI_MPI_FORTRAN_, count), binding)

// The names that Fortran compilers and MPI libraries make: with one underscore, with two (g77), of mpi_f08 with buffers
// as addresses (f08) and as descriptors (f08ts).
#define TUTTI_MPI_SUBROUTINES(Name, name, count)                   \
  TUTTI_MPI_SUBROUTINE(name##_, Name, count, Binding::fortran)     \
  TUTTI_MPI_SUBROUTINE(name##__, Name, count, Binding::fortran)    \
  TUTTI_MPI_SUBROUTINE(name##_f08_, Name, count, Binding::fortran) \
  TUTTI_MPI_SUBROUTINE(name##_f08ts_, Name, count, Binding::fortran_2018)
