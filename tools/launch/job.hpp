#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/event_loop.hpp"
#include "launch/exit_order.hpp"
#include "launch/job_guard.hpp"
#include "launch/launch_target.hpp"
#include "launch/local_socket.hpp"
#include "launch/process.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::tools {

/// Program, environment and input of the ranks of a job.
struct JobSpec {
  int ranks = 1;
  std::vector<std::string> command = {};  ///< program and arguments
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string backend = {};  ///< TUTTI_BACKEND of the ranks; empty: inherited
  int input = -1;            ///< descriptor that rank 0 reads from; -1: nothing
};

enum class RankStream : std::uint8_t { output, error };

/// How a job ended.
struct JobEnd {
  int exit_code = 0;
  std::string message;  ///< reason for a failure; empty on success
  int rank = -1;        ///< the rank that failed first, -1 when none did
  int wait_status = 0;  ///< of that rank
};

/// The ranks of one job on this machine, started by tutti itself or by a library's launcher. When a rank fails, the
/// other ranks are ended. The destructor kills all processes of the job that are left.
///
/// Single-threaded: the owner calls EventLoop::wait(), on_child() for SIGCHLD and tick() when deadline() has passed. A
/// SignalWatch must exist, and only one job may exist at a time.
class Job {
 public:
  /// Receives the bytes that a rank wrote; rank -1 is the library's launcher. Empty bytes: the stream has ended.
  using Sink = std::function<void(int rank, RankStream stream, std::string_view bytes)>;

  /// Starts the job. Throws ProgramError or Error{system} when it cannot be started.
  Job(EventLoop& loop, const LaunchTarget& target, JobSpec spec, Sink sink);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// False once all processes have ended and all of their output has been delivered.
  [[nodiscard]] bool running() const noexcept { return !finished_; }
  [[nodiscard]] const JobEnd& end() const noexcept { return end_; }
  /// Ranks that have not ended yet; under a library's launcher, ranks that have not reported their end.
  [[nodiscard]] std::set<int> alive() const { return alive_; }

  /// Sends SIGTERM to all processes and kills those that still run after 2 s (6 s with a library's launcher, which has
  /// to clean up after its ranks). Only the first call sets the exit code and the message.
  void stop(int exit_code, std::string message);
  /// Kills all processes at once.
  void kill_now();
  /// Sends a signal that asks the job to end to all processes.
  void forward(int signal);
  /// Sends a signal that does not ask the job to end (SIGUSR1, SIGUSR2) to all processes.
  void pass_on(int signal) const;
  /// Stops the ranks and this process (Ctrl-Z). Continues the ranks when this process is continued; returns the time
  /// that passed in between.
  Clock::duration suspend();

  void on_child();
  [[nodiscard]] std::optional<Clock::time_point> deadline() const noexcept { return kill_at_; }
  void tick();

 private:
  struct Stream {
    spi::FileDescriptor read;
    int rank;
    RankStream kind;
  };
  void start_ranks(const LaunchTarget& target);
  void start_launcher(const LaunchTarget& target);
  std::pair<spi::FileDescriptor, spi::FileDescriptor> open_streams(int rank);
  /// False when there is nothing to read yet.
  bool read_stream(int descriptor);
  void close_stream(int descriptor);
  /// The process of the job that has ended next, or nothing.
  std::optional<std::pair<pid_t, int>> next_ended();
  void rank_message(int peer, std::string_view line);
  void rank_ended(int rank, int wait_status);
  /// The ranks that had left the job when another one failed: they may be the reason.
  [[nodiscard]] std::string describe_complete() const;
  void launcher_ended(int wait_status);
  void signal_all(int signal) const;
  void finish();

  EventLoop& loop_;
  JobSpec spec_;
  Sink sink_;
  ProcessEnvironment environment_;
  std::optional<JobGuard> guard_;
  std::unique_ptr<StoreServer> store_;
  std::unique_ptr<LineServer> control_;
  std::string launcher_name_;
  std::map<pid_t, int> processes_;  // rank, or -1 for the launcher
  ExitOrder exit_order_;            // of the ranks in processes_
  std::map<int, Stream> streams_;   // by descriptor number
  std::map<int, int> rank_of_peer_;
  std::set<pid_t>
      groups_;  // their first processes are not waited for before the end, so that no other group gets their number
  std::set<int> alive_;
  std::set<int> complete_;  // ranks that exited with 0
  JobEnd end_;
  bool stopping_ = false;
  bool failed_ = false;
  bool finished_ = false;
  int forwarded_ = 0;
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace tutti::tools
