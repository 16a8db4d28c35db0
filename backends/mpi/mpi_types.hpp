#pragma once

#include <array>
#include <string>

#include "mpi_api.hpp"
#include "tutti/error.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

/// Translation of types, reductions and errors between tutti and MPI.
namespace tutti::mpi {

/// Names a predefined object in both ABIs: TUTTI_MPI_HANDLE(symbol of Open MPI, constant of the MPICH ABI). Open MPI's
/// constant in the code would be a link-time reference to its library.
#if defined(OPEN_MPI)
#define TUTTI_MPI_HANDLE(symbol, constant) #symbol
template <typename Handle>
[[nodiscard]] Handle predefined_handle(const SymbolLookup& lookup, const char* symbol) {
  if (void* address = lookup(symbol)) return static_cast<Handle>(address);
  throw Error(ErrorCode::backend_unavailable, "the MPI library has no symbol " + std::string(symbol), "mpi");
}
#else
#define TUTTI_MPI_HANDLE(symbol, constant) constant
template <typename Handle>
[[nodiscard]] Handle predefined_handle(const SymbolLookup&, Handle constant) {
  return constant;
}
#endif

/// Whether MPI carries out such a reduction. It combines two contributions at a time, which would round 8-bit floats at
/// each step; they are reduced in float32 instead.
[[nodiscard]] constexpr bool is_combined(Reduction reduction, DataType type) noexcept {
  return is_defined(reduction, type) && !is_float8(type);
}

/// Whether tutti's own operation always replaces MPI's for this pair, whatever the test on sample values finds: MPI has
/// none for float16 and bfloat16, and Open MPI's sums of 8 and 16-bit integers saturate instead of wrapping around on
/// CPUs with AVX (its issue 8045), so the hosts of one job might differ.
[[nodiscard]] constexpr bool is_never_theirs(Reduction reduction, DataType type) noexcept {
  if (type == DataType::float16 || type == DataType::bfloat16) return true;
  return kAbi == Abi::openmpi && reduction == Reduction::sum && size_of(type) < 4;
}

/// MPI's datatype for each DataType and MPI's operation for each Reduction. One per process, made after MPI was
/// initialised.
///
/// The constructor tests MPI's operations on sample values with MPI_Reduce_local and replaces wrong ones by tutti's
/// own, made with MPI_Op_create. Versions of both families compare unsigned integers as signed ones in min and max
/// (MPICH issues 6083 and 7507, Open MPI issues 10276 and 10525).
class Types {
 public:
  /// MPI must be initialised.
  Types(const Api& api, const SymbolLookup& lookup);

  [[nodiscard]] MPI_Datatype datatype(DataType type) const noexcept {
    return datatypes_[static_cast<std::size_t>(type)];
  }
  /// Only for pairs that capabilities() contains.
  [[nodiscard]] MPI_Op operation(Reduction reduction, DataType type) const noexcept {
    return operations_[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(type)];
  }
  /// Whether the operation is tutti's own. MPI passes int lengths to such an operation.
  [[nodiscard]] bool is_own(Reduction reduction, DataType type) const noexcept {
    return own_[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(type)];
  }

 private:
  void add(const Api& api, Reduction reduction, MPI_Op theirs);

  std::array<MPI_Datatype, kDataTypeCount> datatypes_ = {};
  std::array<std::array<MPI_Op, kDataTypeCount>, kReductionCount> operations_ = {};
  std::array<std::array<bool, kDataTypeCount>, kReductionCount> own_ = {};
};

/// Throws Error{backend_failure} with MPI's error text unless `code` is MPI_SUCCESS. `what` names the step that failed.
void check(const Api& api, int code, const std::string& what);

/// MPI's error text for a code.
[[nodiscard]] std::string error_text(const Api& api, int code);

}  // namespace tutti::mpi
