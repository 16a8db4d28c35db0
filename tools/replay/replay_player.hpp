#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/record_check.hpp"
#include "replay/replay_buffers.hpp"
#include "replay/replay_communicators.hpp"
#include "replay/replay_rows.hpp"
#include "replay/replay_sizes.hpp"
#include "tutti/communicator.hpp"
#include "tutti/observer.hpp"

namespace tutti::tools {

/// Times and counts of one rank in one round.
struct PlayedRound {
  double wall_us = 0;
  double busy_us = 0;      ///< in calls and waits
  double waited_us = 0;    ///< of that, for ranks that came later to a collective
  std::uint64_t last = 0;  ///< collectives to which this rank came last
  std::vector<RowTotals> rows = {};
  /// Operations as they reach the library underneath: those of the inner backend if the backend stands on another one.
  SizesOfKinds sizes = {};
};

/// Replays what one rank of a record did.
class ReplayPlayer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Options {
    double gap_factor = 1;           ///< for the recorded gaps; 0: none
    bool checks = false;             ///< verifies every result
    bool counts_calls = false;       ///< counts the calls into the library underneath, which takes time
    std::function<void(Time)> sign;  ///< called after every event, with the time of its end
  };

  ReplayPlayer(const replay::JobRecord& record, const replay::ReplayPlan& plan, const ReplayRows& rows,
               Communicator job);

  /// Collective. Throws tutti::Error; backend_failure for a wrong result.
  PlayedRound play(const Options& options);

 private:
  /// An operation under way.
  struct Running {
    const replay::RecordedOperation* op = nullptr;
    std::size_t row = 0;
    const Communicator* comm = nullptr;
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    // Memory behind them: one piece where they share it.
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::byte* more = nullptr;
    std::size_t more_bytes = 0;
    std::uint64_t seed = 0;
  };
  struct Pending {
    std::vector<Running> operations;
    Work work;
  };
  /// Arrival at the collectives of a communicator, in order.
  struct Arrivals {
    std::vector<std::uint64_t> times_ns;
    std::vector<float> durations_us;  ///< 0 for calls that do not block
  };

  Running prepare(std::uint32_t operation);
  [[nodiscard]] Work call(const Running& running) const;
  void finish(const Running& running);
  void play_operation(const replay::Event& event);
  void play_group(const replay::Event& event, std::vector<Running> operations);
  void wait(std::size_t index);
  void pass_gap(double gap_us) const;
  void add_time(const std::vector<Running>& operations, Time begin, Time end, std::uint64_t host_calls, bool counts);
  void note_arrival(const Running& running, Time begin, std::optional<Time> end);
  [[nodiscard]] std::uint64_t next_seed(const replay::RecordedOperation& op, const Communicator& comm);
  void add_waiting();

  const replay::JobRecord& record_;
  const replay::Sequence& sequence_;
  const ReplayRows& rows_;
  std::size_t place_;
  Communicator job_;
  ReplayCommunicators communicators_;
  ReplayBuffers buffers_;
  Options options_;
  PlayedRound round_;
  std::deque<Pending> pending_;
  InnerSizes inner_;
  bool has_inner_ = false;                                         ///< the backend has reported inner operations
  std::vector<Arrivals> arrivals_;                                 ///< by communicator
  std::vector<std::uint64_t> collectives_;                         ///< by communicator: number of calls so far
  std::map<std::array<std::int64_t, 4>, std::uint64_t> messages_;  ///< by communicator, sender, receiver and tag
  Time last_;
};

}  // namespace tutti::tools
