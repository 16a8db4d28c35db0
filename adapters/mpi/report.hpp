#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/mpi/mpi_functions.hpp"

/// Counts of the calls of this process, for TUTTI_SHOW=1.
namespace tutti::adapters::mpi {

/// Fate of a call.
enum class Outcome : std::uint8_t {
  served,        ///< carried out by tutti
  compared,      ///< suitable, but given to MPI to measure its time
  first_calls,   ///< one of the first suitable calls of its communicator
  size,          ///< of a size, or of an operation, at which tutti gains nothing
  type,          ///< a data type or an operation that tutti does not reduce
  threads,       ///< non-blocking, without MPI_THREAD_MULTIPLE or from Fortran
  communicator,  ///< inter-communicator, one rank, several hosts
  kind,          ///< neighbourhood, scan and others that are always passed on
  arguments,     ///< MPI is to judge them
  own,           ///< a call of tutti itself
};
inline constexpr std::size_t kOutcomes = 10;

/// True while calls are counted.
extern std::atomic<bool> is_counting;

void count_call(mpi_table::Row row, Outcome outcome, std::uint64_t bytes) noexcept;
/// Time of a call of `bytes` bytes that was served or compared.
void count_time(mpi_table::Row row, Outcome outcome, std::uint64_t bytes, std::chrono::nanoseconds time) noexcept;
/// Reason of the first communicator that was refused.
void note_refusal(std::string_view reason) noexcept;

/// The report as text; `backend`: that carried out the served calls; `sizes`: where the sizes that are served come
/// from.
[[nodiscard]] std::string report_text(std::string_view backend, std::string_view sizes);

}  // namespace tutti::adapters::mpi
