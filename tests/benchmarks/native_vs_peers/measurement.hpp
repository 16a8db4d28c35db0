#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peers/rank_group.hpp"
#include "results.hpp"
#include "text/progress.hpp"

namespace tutti::bench {

/// Cells to measure, and the time for each.
struct Plan {
  std::vector<Op> ops = {kOps, kOps + std::size(kOps)};
  std::vector<std::uint64_t> sizes;
  std::vector<int> ranks = {2, 4, 8};
  int rounds = 21;
  double batch_seconds = 0.005;       ///< duration of a turn of one contestant
  double cell_seconds = 30;           ///< after this time a cell ends, but not before kLeastRounds rounds
  std::chrono::seconds patience{60};  ///< longest time until a contestant answers
  bool narrow_types = true;           ///< also measures the 16-bit types of the targets
  bool fresh_buffers = false;         ///< new memory for each call

  static constexpr int kLeastRounds = 3;

  /// All cells for a number of ranks; cells that are compared with each other are in one group.
  [[nodiscard]] std::vector<std::vector<Workload>> workloads(int rank_count) const;
};

/// Runs a plan: starts all contestants, which then take turns within each cell, in another order in each round, so that
/// disturbances of the machine affect all of them. The cells of a group take turns, too. Every turn begins with a call
/// whose result is checked.
class Measurement {
 public:
  Measurement(const Plan& plan, Results& results, bool quiet);

  /// Adds each result immediately, so that an interrupted run keeps the results so far. Throws Interrupted.
  void run();

 private:
  void start_groups(int ranks);
  void measure(const std::vector<Workload>& group);
  [[nodiscard]] bool takes_part(std::size_t contestant, const Workload& workload) const;
  // A cell while it is measured.
  struct Course {
    std::size_t cell;          // its index in the results
    bool release;              // frees the memory after every turn
    std::vector<double> cost;  // seconds of a call, by contestant
  };
  [[nodiscard]] std::optional<Course> enter(const Workload& workload);
  void calibrate(Course& course);
  void run_round(int round, Course& course);
  BatchResult run_batch(std::size_t contestant, const Batch& batch, Sample& sample);
  void show(std::size_t contestant, const Workload& workload, const std::string& what);

  const Plan& plan_;
  Results& results_;
  tools::Progress progress_;
  std::chrono::steady_clock::time_point shown_ = {};
  std::vector<std::unique_ptr<RankGroup>> groups_;
  int ranks_ = 0;
};

}  // namespace tutti::bench
