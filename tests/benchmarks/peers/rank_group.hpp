#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contestant.hpp"
#include "launch/process.hpp"
#include "rank_link.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/file_descriptor.hpp"
#include "workload.hpp"

namespace tutti::bench {

/// Thrown by every wait after Ctrl-C. After a second Ctrl-C, the benchmark does not wait for the ranks to end.
struct Interrupted {};
void watch_for_interrupt();

/// A batch of calls that the ranks run.
struct Batch {
  Workload workload;
  int warm_ups = 0;
  int calls = 1;
  bool check = false;    ///< checks the result of a call before the timed calls
  bool release = false;  ///< frees the buffers afterwards
  bool fresh = false;    ///< new memory for each call
};

/// Result of a batch.
struct BatchResult {
  std::string problem;           ///< one line; empty if there was none
  std::vector<double> times_us;  ///< for each call, the time of the slowest rank
  double seconds_per_call = 0;   ///< including the barrier before the call
};

/// The ranks of one contestant. They stay alive and sleep between batches.
class RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the ranks and waits until all are ready; problem() is set if that fails.
  RankGroup(const Contestant& contestant, int ranks, std::chrono::seconds patience);
  /// Asks the ranks to end; kills those that do not.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Empty while the group can be used. After a failure it is unusable.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// Throws Interrupted.
  [[nodiscard]] BatchResult run(const Batch& batch);
  /// Makes the ranks free their buffers, if they have kept any. Throws Interrupted.
  void release();

 private:
  void spawn_all(const Contestant& contestant);
  void spawn_one(const std::vector<std::string>& command, const tools::ProcessEnvironment& environment);
  void wait_until_ready(Clock::time_point deadline);
  void handle_greeting(std::size_t from, const std::string& line, int& ready);
  [[nodiscard]] std::vector<std::string> collect_answers(Clock::time_point deadline);
  void wait_for_input(Clock::time_point deadline);
  void fail(std::string problem);
  [[nodiscard]] std::string how_it_ended();
  [[nodiscard]] bool reap_until(Clock::time_point deadline);
  [[nodiscard]] std::string last_words() const;

  int ranks_;
  std::chrono::seconds patience_;
  RankListener listener_;
  std::unique_ptr<StoreServer> store_;
  spi::FileDescriptor output_;  // output of all ranks
  std::vector<pid_t> processes_;
  std::vector<RankLink> links_;
  std::vector<std::string> shared_;  // messages of a rank to all others, kept for ranks that connect later
  std::string version_;
  std::string problem_;
  std::string end_;  // end of the first process that ended
};

}  // namespace tutti::bench
