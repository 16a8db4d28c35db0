#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// The table of MPI functions. Profiling wrappers are made from it; everybody else who stands in front of MPI may use
/// it too. It needs no mpi.h: a position is the index of an argument of the C function, the same in Fortran.
namespace tutti::mpi_table {

/// Groups of functions.
enum class FunctionKind : std::uint8_t {
  collective,  ///< blocking and non-blocking collectives
  message,     ///< sends and receives
  completion,  ///< waits, tests, probes, starts
  one_sided,
  file,
  topology,
  query,  ///< only asks
  setup,  ///< everything else
};

/// How the bytes of a call follow from its counts and types.
enum class Shape : std::uint8_t {
  simple,                 ///< count x type
  per_rank,               ///< count x type for each rank of the communicator
  vector,                 ///< sum of the counts x type
  typed_vector,           ///< sum of count x type, an array of both
  contribution,           ///< count x type; in place: the part of the receive buffer
  contribution_v,         ///< the same with an array of receive counts
  scatter,                ///< root: per_rank; the others: their receive part
  scatter_v,              ///< root: vector; the others: their receive part
  per_neighbor,           ///< count x type for each outgoing neighbour
  neighbor_vector,        ///< vector over outgoing neighbours
  neighbor_typed_vector,  ///< typed_vector over outgoing neighbours
};

/// Functions after which something of MPI's state is different.
enum class Role : std::uint8_t {
  none,
  init,
  finalize,
  session_init,
  session_finalize,
  comm_create,
  comm_duplicate_later,  ///< the new communicator may not be used yet
  comm_free,
  type_free,
};

struct Columns {
  Role role = Role::none;
  Shape shape = Shape::simple;
  std::int8_t count = -1;     ///< count or counts; of requests for completions
  std::int8_t type = -1;      ///< data type or types
  std::int8_t in_count = -1;  ///< receive count or counts
  std::int8_t in_type = -1;
  std::int8_t comm = -1;
  std::int8_t root = -1;
  std::int8_t peer = -1;     ///< destination, or source, or target
  std::int8_t request = -1;  ///< new request, or the request or requests to complete
  std::int8_t flag = -1;     ///< int* that stays 0 if nothing was complete
  std::int8_t created = -1;  ///< handle of a new communicator
  std::int8_t fortran = -1;  ///< number of arguments in Fortran without ierror, if it differs
};

struct Function {
  std::string_view name;       ///< "MPI_Allreduce"
  std::string_view operation;  ///< "allreduce", also of the non-blocking form
  std::uint8_t arguments;
  FunctionKind kind;
  Columns at;
  /// Position of ierror in Fortran.
  [[nodiscard]] constexpr std::size_t error_position() const noexcept {
    return at.fortran < 0 ? arguments : static_cast<std::size_t>(at.fortran);
  }
};

namespace detail {
constexpr std::string_view operation_of(std::string_view name, FunctionKind kind) {
  const bool is_issue = name.front() == 'i' && (kind == FunctionKind::collective || kind == FunctionKind::message);
  const std::string_view operation = is_issue ? name.substr(1) : name;
  // tutti's spelling, so that tables show one row for an operation whichever library carries it out.
  if (operation == "bcast") return "broadcast";
  if (operation == "reduce_scatter") return "reduce_scatterv";
  return operation == "reduce_scatter_block" ? "reduce_scatter" : operation;
}
}  // namespace detail

/// Index of a function in kFunctions.
enum class Row : std::uint16_t {
#define TUTTI_MPI(version, forms, Name, ...) Name,
#include "base/mpi/mpi_functions.def"
};

inline constexpr Function kFunctions[] = {
#define TUTTI_MPI(version, forms, Name, name, arguments, kind, ...) \
  {"MPI_" #Name, detail::operation_of(#name, FunctionKind::kind), arguments, FunctionKind::kind, {__VA_ARGS__}},
#include "base/mpi/mpi_functions.def"
};
inline constexpr std::size_t kFunctionCount = sizeof kFunctions / sizeof *kFunctions;

[[nodiscard]] constexpr const Function& function(Row row) noexcept { return kFunctions[static_cast<std::size_t>(row)]; }

}  // namespace tutti::mpi_table
