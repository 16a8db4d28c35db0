#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "setup/setup_calls.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::mpi {

/// Watches the other ranks while a communicator is made: MPI_Init, MPI_Comm_dup and MPI_Comm_create_group wait without
/// a limit for ranks that are gone. The job's store knows when a rank is lost or has failed: a thread waits there for
/// the end of the creation, and gives up calls() when the store reports a failure or the rendezvous timeout.
class CreationWatch {
 public:
  /// Without a thread if the rendezvous has one rank.
  explicit CreationWatch(const Rendezvous& rendezvous);
  /// Ends the watch.
  ~CreationWatch();
  CreationWatch(const CreationWatch&) = delete;
  CreationWatch& operator=(const CreationWatch&) = delete;

  [[nodiscard]] SetupCalls& calls() noexcept { return calls_; }

 private:
  void serve();

  Rendezvous rendezvous_;
  std::string end_;  ///< key in the store
  SetupCalls calls_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace tutti::mpi
