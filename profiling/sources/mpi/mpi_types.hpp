#pragma once

#include <cstdint>
#include <string_view>

#include "mpi/mpi_library.hpp"

namespace tutti::profiling::mpi {

/// An MPI data type, as records describe it.
struct TypeFacts {
  std::int64_t size = 0;
  std::uint8_t name = 0;  ///< index for type_name()
};

/// Facts of a type; asks MPI for a type that is new to the process. All 0 for MPI_DATATYPE_NULL.
[[nodiscard]] TypeFacts type_facts(Word type) noexcept;
/// "float32" and so on for types that tutti has, otherwise an empty text.
[[nodiscard]] std::string_view type_name(std::uint8_t name) noexcept;
/// Forgets a type before MPI frees it.
void forget_type(Word type) noexcept;

}  // namespace tutti::profiling::mpi
