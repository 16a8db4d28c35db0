#pragma once

#include <cstdint>

#include "mpi/mpi_library.hpp"
#include "mpi/mpi_communicators.hpp"
#include "base/mpi/mpi_functions.hpp"

namespace tutti::profiling::mpi {

/// Message of a call: the bytes that this rank hands to it, or receives from it where it hands over none.
struct Message {
  std::uint64_t bytes = 0;
  std::uint8_t type = 0;  ///< for type_name()
};

/// `communicator`: of a collective; null for others, and if it is not known.
[[nodiscard]] Message message_of(const mpi_table::Function& function, const Arguments& arguments,
                                 Communicator* communicator, Word handle) noexcept;

}  // namespace tutti::profiling::mpi
