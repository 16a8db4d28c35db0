#pragma once

#include "adapter.hpp"
#include "base/mpi/mpi_symbols.hpp"

// Definitions of the collectives of the table. Includers define TUTTI_MPI by these.

#define TUTTI_MPI_C_FUNCTION(Symbol, Name, count, binding)                                                  \
  TUTTI_MPI_EXPORT int Symbol(TUTTI_MPI_PARAMETERS_##count) {                                               \
    static constinit RealFunction<int (*)(TUTTI_MPI_TYPES_##count)> real{#Symbol};                          \
    return call<mpi_table::Row::Name, binding>(real, __builtin_return_address(0) TUTTI_MPI_VALUES_##count); \
  }

#define TUTTI_MPI_SUBROUTINE_(Symbol, Name, count, binding)                                                            \
  TUTTI_MPI_EXPORT void Symbol(TUTTI_MPI_JOIN(TUTTI_MPI_PARAMETERS_, count)) {                                         \
    static constinit RealFunction<void (*)(TUTTI_MPI_JOIN(TUTTI_MPI_TYPES_, count))> real{#Symbol};                    \
    call_fortran<mpi_table::Row::Name, binding>(real,                                                                  \
                                                __builtin_return_address(0) TUTTI_MPI_JOIN(TUTTI_MPI_VALUES_, count)); \
  }
#define TUTTI_MPI_SUBROUTINE(Symbol, Name, count, binding) \
  TUTTI_MPI_SUBROUTINE_(Symbol, Name, TUTTI_MPI_JOIN(TUTTI_MPI_FORTRAN_, count), binding)

// Kinds of functions other than collectives are not defined.
#define TUTTI_MPI_IF_completion(definition)
#define TUTTI_MPI_IF_collective(definition) definition
#define TUTTI_MPI_IF_file(definition)
#define TUTTI_MPI_IF_message(definition)
#define TUTTI_MPI_IF_one_sided(definition)
#define TUTTI_MPI_IF_query(definition)
#define TUTTI_MPI_IF_setup(definition)
#define TUTTI_MPI_IF_topology(definition)
