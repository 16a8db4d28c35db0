#pragma once

#include <cstdint>
#include <optional>

#include "base/mpi/mpi_arguments.hpp"
#include "base/mpi/mpi_functions.hpp"
#include "tutti/tuning.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::adapters::mpi {

/// Size of a call, as all ranks know it.
struct PlainSize {
  std::uint64_t bytes = 0;
  tutti::TypeClass types = tutti::TypeClass::any;  ///< class of its type in a tuning table
};

/// The size of a call whose type is predefined, from its count or counts alone; equal to that of ServedCall, which
/// reads all arguments. Nothing where it takes more to know it. `rank` and `ranks`: of the call's communicator.
[[nodiscard]] std::optional<PlainSize> plain_size(mpi_table::Row row, OpKind kind,
                                                  const mpi_table::Arguments& arguments, int rank, int ranks) noexcept;

}  // namespace tutti::adapters::mpi
