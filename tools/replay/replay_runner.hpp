#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/event_loop.hpp"
#include "launch/job.hpp"
#include "launch/job_failure.hpp"
#include "launch/launch_target.hpp"
#include "replay/replay_rows.hpp"
#include "replay/replay_sizes.hpp"

namespace tutti::tools {

struct ReplaySettings {
  std::string file;
  int ranks = 0;
  int rounds = 1;
  double gaps = 1;
  bool check = false;
  bool prefix = false;                  ///< only the operations before the first one that lacks a partner
  bool autotune = false;                ///< the engine's search for the best parameters comes before the timed rounds
  std::chrono::nanoseconds patience{};  ///< time without a sign after which the ranks count as hung
};

/// Times and counts of a rank of a replay.
struct ReplayedRank {
  double wall_us = 0;
  double busy_us = 0;
  double waited_us = 0;
  std::uint64_t last = 0;
};

/// A replay on one backend.
struct ReplayOutcome {
  std::string backend;
  std::string status;  ///< empty: it ended well
  std::string note;
  std::vector<RowTotals> rows;  ///< sums over the ranks
  std::vector<ReplayedRank> ranks;
  SizesOfKinds sizes;  ///< of rank 0
  std::string tuned;   ///< best parameters, as a line of upstream's log of autotune

  [[nodiscard]] bool ok() const noexcept { return status.empty(); }
  [[nodiscard]] double wall_us() const noexcept;
};

/// Replays a record on one backend, started by its launcher.
class ReplayRunner {
 public:
  /// `rows`: number of rows of the tables; `progress` gets the number of events of one rank so far.
  ReplayRunner(EventLoop& loop, const LaunchTarget& target, ReplaySettings settings, std::size_t rows,
               std::function<void(std::uint64_t)> progress);

  /// Returns when the ranks have ended.
  [[nodiscard]] ReplayOutcome run();

  void on_child();
  /// Stops the ranks and this process until it is continued.
  void suspend();
  /// Ends the ranks; a second call kills them at once.
  void stop();

 private:
  [[nodiscard]] JobSpec make_spec(const std::string& report) const;
  void on_message(int peer, std::string_view line);
  void on_row(const std::vector<std::string>& words);
  void on_size(const std::vector<std::string>& words);

  EventLoop& loop_;
  LaunchTarget target_;
  ReplaySettings settings_;
  std::function<void(std::uint64_t)> progress_;
  ReplayOutcome outcome_;
  std::unique_ptr<Job> job_;
  JobFailure failure_;
  std::map<int, int> rank_of_peer_;
  int done_ = 0;  ///< ranks that have reported everything
  Clock::time_point last_sign_;
  int stops_ = 0;
};

}  // namespace tutti::tools
