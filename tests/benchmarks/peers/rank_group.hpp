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

/// Ctrl-C, seen by everything that waits. A second one does not wait for the ranks to end.
struct Interrupted {};
void watch_for_interrupt();

/// What the ranks are told to do.
struct Batch {
  Workload workload;
  int warm_ups = 0;
  int calls = 1;
  bool check = false;    ///< compare the result of a call before the timed ones
  bool release = false;  ///< give the buffers back afterwards
};

/// What came of it.
struct BatchResult {
  std::string problem;           ///< empty when all went well, else one line
  std::vector<double> times_us;  ///< per call, that of the slowest rank
  double seconds_per_call = 0;   ///< with the barrier before it
};

/// The ranks of one contestant. They stay alive, asleep between batches.
class RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts them and waits until all have said that they are ready; problem() says when that fails.
  RankGroup(const Contestant& contestant, int ranks, std::chrono::seconds patience);
  /// Asks the ranks to end and ends those that do not.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Empty while it can be used. After a failure the group is over.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// Throws Interrupted.
  [[nodiscard]] BatchResult run(const Batch& batch);
  /// Has the ranks give their buffers back, if they kept any. Throws Interrupted.
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
  spi::FileDescriptor output_;  // where everything the ranks print goes
  std::vector<pid_t> processes_;
  std::vector<RankLink> links_;
  std::vector<std::string> shared_;  // what a rank said for all others, for those that come later
  std::string version_;
  std::string problem_;
  std::string end_;  // how the first process ended that did so by itself
};

}  // namespace tutti::bench
