#pragma once

#include <array>
#include <string>

#include "mpi_api.hpp"
#include "tutti/data_type.hpp"
#include "tutti/error.hpp"
#include "tutti/reduction.hpp"

/// How types, reductions and errors translate.
namespace tutti::mpi {

/// A predefined object by both its names: TUTTI_MPI_HANDLE(symbol in Open MPI, constant of the MPICH ABI). Naming Open
/// MPI's constant in the code would be a link-time reference to its library.
#if defined(OPEN_MPI)
#define TUTTI_MPI_HANDLE(symbol, constant) #symbol
template <typename Handle>
[[nodiscard]] Handle predefined_handle(const SymbolLookup& lookup, const char* symbol) {
  if (void* address = lookup(symbol)) return static_cast<Handle>(address);
  throw Error(ErrorCode::backend_unavailable, "the MPI library lacks " + std::string(symbol), "mpi");
}
#else
#define TUTTI_MPI_HANDLE(symbol, constant) constant
template <typename Handle>
[[nodiscard]] Handle predefined_handle(const SymbolLookup&, Handle constant) {
  return constant;
}
#endif

/// Whether MPI's own operation is never used for a pair, whatever the library at hand does on this machine: it has none
/// for float16 and bfloat16; and on Open MPI the sums of short integers saturate instead of wrapping around where the
/// CPU has AVX (its issue 8045), so hosts of one job may differ.
[[nodiscard]] constexpr bool is_never_theirs(Reduction reduction, DataType type) noexcept {
  if (type == DataType::float16 || type == DataType::bfloat16) return true;
  return kAbi == Abi::openmpi && reduction == Reduction::sum && size_of(type) < 4;
}

/// The tables that a call looks into; one per process, made when MPI runs.
///
/// MPI's operations are tried on sample values with MPI_Reduce_local first, and replaced by our own, made with
/// MPI_Op_create, where they are wrong. Versions of both families were, for min and max of unsigned integers, which
/// they compared as signed ones (MPICH issues 6083 and 7507, Open MPI issues 10276 and 10525).
class Types {
 public:
  /// MPI must be initialised.
  Types(const Api& api, const SymbolLookup& lookup);

  [[nodiscard]] MPI_Datatype datatype(DataType type) const noexcept {
    return datatypes_[static_cast<std::size_t>(type)];
  }
  /// Never asked for what Capabilities lack.
  [[nodiscard]] MPI_Op operation(Reduction reduction, DataType type) const noexcept {
    return operations_[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(type)];
  }
  /// Whether the operation is ours: MPI then calls it with lengths of int only.
  [[nodiscard]] bool is_own(Reduction reduction, DataType type) const noexcept {
    return own_[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(type)];
  }

 private:
  void add(const Api& api, Reduction reduction, MPI_Op theirs);

  std::array<MPI_Datatype, kDataTypeCount> datatypes_ = {};
  std::array<std::array<MPI_Op, kDataTypeCount>, kReductionCount> operations_ = {};
  std::array<std::array<bool, kDataTypeCount>, kReductionCount> own_ = {};
};

/// Throws Error{backend_failure} with MPI's own words unless `code` is success. `what` says what was tried.
void check(const Api& api, int code, const std::string& what);

/// MPI's words for a code.
[[nodiscard]] std::string error_text(const Api& api, int code);

}  // namespace tutti::mpi
