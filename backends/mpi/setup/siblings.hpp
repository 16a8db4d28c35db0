#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launch/mpi_launch.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::mpi {

/// The ranks that one launcher started on this host, as far as they start MPI through tutti: before MPI runs they have
/// no other way to learn of each other's end. Each has a socket with a name made of the launcher and the rank, and
/// tells those that came before that it has come. Nothing is left when a process is killed. Not thread-safe.
class Siblings {
 public:
  /// Shows this process to the others and looks for those that have come. `launcher`: launcher_key(), empty if there is
  /// none; then no rank is seen.
  Siblings(const Launch& launch, const std::string& launcher);

  struct Ended {
    int rank;
    pid_t pid;
  };
  /// Looks for ranks that have not been seen, then waits until a process that was seen ends or `wake` is readable, at
  /// most for `patience_ms`. Returns the ranks whose processes have ended.
  [[nodiscard]] std::vector<Ended> wait(int wake, int patience_ms);
  /// Ranks that have not been seen: they have not come, or are on other hosts.
  [[nodiscard]] std::vector<int> unseen() const;
  /// Whether ranks of this host can be seen.
  [[nodiscard]] bool can_see() const noexcept { return static_cast<bool>(listener_); }

 private:
  struct Sibling {
    int rank;
    pid_t pid = 0;
    spi::FileDescriptor process;  ///< pidfd
    bool has_ended = false;

    /// Finds the process at the other end.
    void watch(const spi::FileDescriptor& connection);
  };
  void find(Sibling& sibling) const;
  void hear_arrivals();
  [[nodiscard]] bool hear(const spi::FileDescriptor& connection);

  std::string launcher_;
  int rank_;
  spi::FileDescriptor listener_;
  std::vector<Sibling> siblings_;
  std::vector<spi::FileDescriptor> arriving_;  ///< connections of ranks that have not said their number
};

}  // namespace tutti::mpi
