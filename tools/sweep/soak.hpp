#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Memory of a process, from /proc.
struct ProcessMemory {
  std::uint64_t resident = 0;
  std::uint64_t peak = 0;  ///< of the resident memory
};

/// Nothing when the process is gone.
[[nodiscard]] std::optional<ProcessMemory> memory_of(pid_t process);

/// Growth of a rank's memory over the rounds of its job. The first two rounds do not count: libraries allocate in them
/// what they keep.
struct MemoryGrowth {
  std::uint64_t resident = 0;  ///< from the third round to the last
  std::uint64_t peak = 0;
  std::size_t rounds = 0;  ///< rounds between the two
  bool is_leak = false;    ///< more than 1 MiB, and not only in the first half of the rounds
};
[[nodiscard]] MemoryGrowth growth_of(std::span<const ProcessMemory> rounds);

/// Memory of the ranks of one job after each round.
class RankMemory {
 public:
  void joined(int rank, pid_t process) { processes_[rank] = process; }
  /// A round is over.
  void sample();
  /// By rank; only ranks with enough rounds.
  [[nodiscard]] std::map<int, MemoryGrowth> growth() const;

 private:
  std::map<int, pid_t> processes_;
  std::map<int, std::vector<ProcessMemory>> samples_;
};

/// Change of a cell's time from the first third of the rounds to the last.
struct Drift {
  double first_us = 0;
  double last_us = 0;
  bool is_beyond_noise = false;  ///< more than 5 %, and the confidence intervals of the two medians do not overlap

  [[nodiscard]] double relative() const noexcept { return last_us / first_us - 1; }
};
/// Nothing for fewer than 9 rounds.
[[nodiscard]] std::optional<Drift> drift_of(std::span<const double> medians_us);

/// The drift and the growth of all ranks, for the terminal.
class SoakReport {
 public:
  /// Keeps the larger growth when a rank of the same backend was reported before.
  void add(const std::string& backend, int ranks, const std::map<int, MemoryGrowth>& growth);
  [[nodiscard]] bool has_leak() const;
  [[nodiscard]] std::string text(const SweepResults& results, double seconds) const;

 private:
  struct Key {
    std::string backend;
    int ranks;
    int rank;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, MemoryGrowth> growth_;
};

}  // namespace tutti::tools
