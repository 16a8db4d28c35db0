#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "progress_line.hpp"
#include "rank_group.hpp"
#include "results.hpp"

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

  /// All cells for a number of ranks.
  [[nodiscard]] std::vector<Workload> workloads(int rank_count) const;
};

/// Runs a plan: all contestants are started, then they take turns within each cell, in another order in each round, so
/// that whatever disturbs the machine disturbs them alike.
class Measurement {
 public:
  Measurement(const Plan& plan, Results& results, bool quiet);

  /// Adds to the results as it goes, so that an interrupted run leaves what it has. Throws Interrupted.
  void run();

 private:
  void start_groups(int ranks);
  void measure_cell(const Workload& workload);
  [[nodiscard]] bool takes_part(std::size_t contestant, const Workload& workload) const;
  void calibrate(Cell& cell, std::vector<double>& cost, bool release);
  void run_round(int round, Cell& cell, std::vector<double>& cost, bool release);
  BatchResult run_batch(std::size_t contestant, const Batch& batch, Sample& sample);
  void show(std::size_t contestant, const Workload& workload, const std::string& what);

  const Plan& plan_;
  Results& results_;
  ProgressLine progress_;
  std::vector<std::unique_ptr<RankGroup>> groups_;
  int ranks_ = 0;
};

}  // namespace tutti::bench
