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

/// What is measured and for how long.
struct Plan {
  std::vector<Op> ops = {kOps, kOps + std::size(kOps)};
  std::vector<std::uint64_t> sizes;
  std::vector<int> ranks = {2, 4, 8};
  int rounds = 21;
  double batch_seconds = 0.005;       ///< of one contestant in one round
  double cell_seconds = 30;           ///< after which a cell gets no more rounds than kLeastRounds
  std::chrono::seconds patience{60};  ///< how long a contestant may take to answer
  bool narrow_types = true;           ///< also the 16-bit types, where they are asked about

  static constexpr int kLeastRounds = 3;

  /// All cells for a number of ranks; those that are compared with each other are in one group.
  [[nodiscard]] std::vector<std::vector<Workload>> workloads(int rank_count) const;
};

/// Runs a plan: all contestants are started, then they take turns within each cell, in another order in each round, so
/// that whatever disturbs the machine disturbs them alike. The cells of a group take turns, too.
class Measurement {
 public:
  Measurement(const Plan& plan, Results& results, bool quiet);

  /// Adds to the results as it goes, so that an interrupted run leaves what it has. Throws Interrupted.
  void run();

 private:
  void start_groups(int ranks);
  void measure(const std::vector<Workload>& group);
  [[nodiscard]] bool takes_part(std::size_t contestant, const Workload& workload) const;
  // A cell while it is measured.
  struct Course {
    std::size_t cell;          // its index in the results
    bool release;              // memory is given back after every turn
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
