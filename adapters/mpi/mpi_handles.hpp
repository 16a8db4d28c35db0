#pragma once

#include <cstdint>
#include <optional>

#include "base/mpi/mpi_abi.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

/// Predefined types and operations of MPI. Everything is looked up once, when MPI has begun.
namespace tutti::adapters::mpi {

using mpi_table::Word;

/// Reductions for which a type is valid in MPI.
enum class TypeClass : std::uint8_t {
  opaque,   ///< none
  bits,     ///< bitwise
  logical,  ///< logical
  integer,  ///< all
  index,    ///< all but logical
  real,     ///< arithmetic
};

/// A predefined type without gaps.
struct PredefinedType {
  std::uint32_t bytes = 0;  ///< 0: not such a type
  TypeClass type_class = TypeClass::opaque;
  DataType number = DataType::uint8;
};

/// Must be called before the functions below, when the MPI library is there.
void learn_handles() noexcept;
[[nodiscard]] PredefinedType predefined_type(Word handle) noexcept;
[[nodiscard]] std::optional<Reduction> predefined_reduction(Word handle) noexcept;
/// Whether MPI defines the reduction for the type, so that tutti may carry it out.
[[nodiscard]] bool is_defined(Reduction reduction, TypeClass type_class) noexcept;

/// Handle of MPI_BYTE; for the adapter's own calls.
[[nodiscard]] Word byte_type() noexcept;
/// Handle of MPI_MIN.
[[nodiscard]] Word minimum() noexcept;
/// Handle of MPI_INT.
[[nodiscard]] Word int_type() noexcept;

}  // namespace tutti::adapters::mpi
