#include "progress.hpp"

#include <array>
#include <chrono>
#include <cstddef>

#include "base/mpi/pmpi.hpp"

namespace tutti::adapters::mpi {
namespace {

using mpi_table::Pmpi;
using mpi_table::Word;

constinit Pmpi comm_dup{"PMPI_Comm_dup"};
constinit Pmpi comm_free{"PMPI_Comm_free"};
constinit Pmpi iprobe{"PMPI_Iprobe"};

// A message that MPI must move meanwhile is late by at most this.
constexpr std::chrono::microseconds kSlice{50};

// A communicator on which no message ever is: a probe that finds none always drives MPI.
constinit Word quiet = 0;

constinit thread_local bool has_left_mpi = false;

}  // namespace

void drive_mpi() noexcept {
  // MPI_Status of all MPIs is at most this large.
  alignas(16) std::array<std::byte, 64> status{};
  int flag = 0;
  constexpr int kSource = 0;
  constexpr int kTag = 0;
  (void)iprobe(kSource, kTag, quiet, &flag, status.data());
}

void leave_mpi_to_others() noexcept { has_left_mpi = true; }

void complete(Work work) {
  while (!has_left_mpi && !work.wait_for(kSlice)) drive_mpi();
  work.wait();
}

void prepare_progress() noexcept {
  Word made = 0;
  if (comm_dup(mpi_table::abi().comm_self, &made)) quiet = mpi_table::handle_at(reinterpret_cast<Word>(&made));
}

void end_progress() noexcept {
  Word freed = quiet;
  quiet = 0;
  if (freed != 0) (void)comm_free(&freed);
}

}  // namespace tutti::adapters::mpi
