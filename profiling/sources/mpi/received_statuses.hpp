#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mpi/mpi_arguments.hpp"
#include "base/mpi/mpi_functions.hpp"
#include "mpi/mpi_library.hpp"

namespace tutti::profiling::mpi {

/// Statuses by which MPI tells whose messages a call has received. Where the program ignores them, MPI writes them to
/// memory of this object instead.
class ReceivedStatuses {
 public:
  struct Sender {
    std::int32_t rank = 0;
    std::int32_t tag = 0;
  };

  /// Before the call. `words`: its arguments, of which that of the status may be changed. Only for calls of C: a
  /// Fortran program ignores statuses by the address of a variable that is not known.
  void prepare(mpi_table::Row row, Binding binding, Word* words, std::size_t requests) noexcept;
  /// After the call: the sender of the message for a request, by its place among the requests. Nothing if the call does
  /// not tell, or got no message.
  [[nodiscard]] std::optional<Sender> sender_of(std::size_t request) const noexcept;

 private:
  const Word* words_ = nullptr;  ///< null: the call does not tell
  int status_ = 0;               ///< position of the status or statuses
  enum class Order : std::uint8_t { one, as_requests, as_indices } order_ = Order::one;
  std::vector<int> own_;
};

}  // namespace tutti::profiling::mpi
