#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/event_loop.hpp"
#include "launch/job.hpp"
#include "launch/job_failure.hpp"
#include "launch/launch_target.hpp"
#include "results/sweep_results.hpp"
#include "sweep/protocol.hpp"
#include "sweep/rank/rank_facts.hpp"

namespace tutti::tools {

/// How the cells are measured.
struct SweepSettings {
  int ranks = 2;
  DataType type = DataType::float32;
  std::uint64_t iterations = 0;  ///< 0: as many as fit in seconds_per_cell
  double seconds_per_cell = 1;
  std::chrono::nanoseconds cell_timeout = std::chrono::seconds(60);
  std::string timeout_text = "60 s";
  std::string device = "host";       ///< see place_on()
  int concurrent = 1;                ///< communicators of the same ranks that carry out the operation at the same time
  bool counted = true;               ///< counted calls follow the timed ones
  double compute_seconds = 0;        ///< of the computation in steps; 0: no steps
  std::uint64_t compute_passes = 0;  ///< the same as work; see Computation
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< of the ranks, beside that of the command
};

/// Measures cells on one backend, all in one job unless a cell fails. When the job fails in a cell, the row of that
/// cell gets the failure as its status, and a new job continues with the next cell.
class SweepRunner {
 public:
  struct Events {
    std::function<void(const SweepCell&)> begun;
    std::function<void(SweepRow)> done;
    std::function<void(std::string)> setting = {};       ///< of the backend's library; the same again in every job
    std::function<void(const BackendSetup&)> used = {};  ///< see BackendSetup::add_use(); at the end of every job
    std::function<void(int rank, const RankProcess&)> process = {};
  };

  SweepRunner(EventLoop& loop, const LaunchTarget& target, SweepSettings settings, Events events);

  /// Returns when all cells have a row, or when stop() was called.
  void run(std::vector<SweepCell> cells);

  void on_child();
  /// Stops the ranks and this process until it is continued.
  void suspend();
  /// Ends the sweep; the cells that are left get no row. A second call kills the ranks at once.
  void stop();

 private:
  struct Answer {
    std::map<int, std::vector<double>> times;     // by rank
    std::map<int, std::vector<double>> observed;  // by rank, of the calls in which devices were observed
    std::map<int, std::vector<double>> steps;     // by rank, of a computation and the call
    std::map<int, std::vector<double>> computes;  // by rank, of the computation
    std::map<int, CellCounts> counts;             // by rank
    DeviceUse device;                             // of the rank whose device took longest
    std::string served_by;
    std::string emulated;
    bool is_staged = false;
    std::string wrong;
    std::string note;
  };
  std::size_t run_job(std::size_t first);
  [[nodiscard]] JobSpec make_spec(std::size_t first, const std::string& report) const;
  void on_message(int peer, std::string_view line);
  void on_answer(const SweepMessage& message, int rank);
  [[nodiscard]] std::vector<std::string> rank_devices() const;
  [[nodiscard]] SweepRow row_of(const SweepCell& cell, const Answer& answer) const;
  [[nodiscard]] std::optional<CellCounts> counts_of(const Answer& answer) const;
  [[nodiscard]] BackendSetup use_of_job() const;
  [[nodiscard]] SweepRow empty_row(const SweepCell& cell) const;
  void finish_cells();
  void give_up_cell(const std::string& status, const std::string& note);

  EventLoop& loop_;
  LaunchTarget target_;
  SweepSettings settings_;
  Events events_;
  std::vector<SweepCell> cells_;

  // State of the current job; indices of answers_ count from the job's first cell.
  std::unique_ptr<Job> job_;
  std::size_t job_first_ = 0;
  std::size_t next_ = 0;  // the first cell without a row
  bool begun_ = false;
  std::map<std::size_t, Answer> answers_;
  std::map<int, int> rank_of_peer_;
  std::map<int, std::string> device_of_rank_;
  std::map<int, RankProcess> process_of_rank_;
  std::string library_;
  JobFailure failure_;
  Clock::time_point last_sign_;
  int stops_ = 0;
};

}  // namespace tutti::tools
