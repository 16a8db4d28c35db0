#pragma once

#include <atomic>
#include <cstdint>

#include "base/mpi/mpi_arguments.hpp"
#include "base/mpi/mpi_functions.hpp"
#include "mpi/mpi_communicators.hpp"

/// The program's MPI operations as `tutti record` wants them: a part per rank, see docs/record-format.md.
namespace tutti::profiling::mpi {

/// True in a process whose operations are written to a record.
[[gnu::visibility("default")]] extern std::atomic<bool> is_writing;

/// Whether a call of this function matters to a record by itself: it is written, or named as left out.
[[nodiscard]] constexpr bool is_written(mpi_table::Row row) noexcept {
  using mpi_table::FunctionKind;
  const mpi_table::Function& function = mpi_table::function(row);
  return function.kind == FunctionKind::collective || function.kind == FunctionKind::message ||
         (function.kind == FunctionKind::one_sided && function.at.peer >= 0) || row == mpi_table::Row::Start ||
         row == mpi_table::Row::Startall;
}

/// Numbers of the operations of one call in the record; 0: none.
struct WrittenCall {
  std::uint64_t first = 0;
  std::uint64_t second = 0;  ///< the receiving part of a sendrecv
  bool is_any = false;       ///< a receive whose message only its status tells
};

/// Writes the begin of a call. `communicator`: null if it is not known.
[[nodiscard]] WrittenCall write_begin(mpi_table::Row row, const mpi_table::Arguments& arguments,
                                      Communicator* communicator, Word handle, std::uint64_t time_ns) noexcept;
/// Writes the end of a blocking call.
void write_end(const WrittenCall& call, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept;
/// Writes the wait for a pending operation, from begin to end.
void write_wait(std::uint64_t id, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept;
/// Writes whose message a receive from any rank has got.
void write_sender(std::uint64_t id, std::int32_t rank, std::int32_t tag) noexcept;
/// Nothing is written after MPI_Finalize.
void end_writing() noexcept;

}  // namespace tutti::profiling::mpi
