#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "launch/process.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Ends the processes of a job when this process dies without having done so (kill -9). The kernel then kills the ranks
/// (ProcessSpec::death_signal), but not their children: the program of a rank is often the child of a shell or a
/// script.
///
/// The guard is the process `tutti guard`. It waits for the end of its connection to this process, then kills the
/// process groups of the job and all processes that have the job's mark in their environment, so that a process that
/// left its group is found, too. end_descendants() ends the guard together with the job.
class JobGuard {
 public:
  /// Starts the guard and adds the mark to `environment`, the environment of the job. Throws Error{system}.
  explicit JobGuard(ProcessEnvironment& environment);

  /// Adds a process group. A library's launcher gets `patience` to end its ranks and to remove its files.
  void add(pid_t group, std::chrono::milliseconds patience = {});

 private:
  void send(const std::string& line) const;

  spi::FileDescriptor connection_;
};

}  // namespace tutti::tools
