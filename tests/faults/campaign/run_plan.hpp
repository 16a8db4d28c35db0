#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/cases/case.hpp"
#include "faults/campaign/fault/fault.hpp"

namespace tutti::test::campaign {

/// Identity of a run: all its random decisions follow from these.
struct RunId {
  std::uint64_t seed = 1;
  std::uint64_t run = 0;
  std::string backend = "native";
  Fault fault = Fault::none;
  int fewest_ranks = 2;
  int most_ranks = 4;
};

/// The second communicator of a job, beside the world.
enum class Second : std::uint8_t { none, duplicate, parity, halves };

/// One step of the workload.
struct Step {
  bool on_second = false;
  Case call;
};

/// Everything that is decided before a run; the campaign and each of its ranks compute it on their own.
struct RunPlan {
  RunId id;
  int ranks = 2;
  int culprit = 0;
  Second second = Second::none;
  std::vector<Step> steps;
  std::size_t at = 0;                      ///< step at which the fault fires
  bool during = false;                     ///< a timer fires the fault `after` the begin of that step
  std::chrono::microseconds after{};       ///< for `during`, and for faults of the set-up: after the begin of the rank
  std::uint64_t variant = 0;               ///< which of the fault's forms
  std::uint64_t detail = 0;                ///< a random number for that form
  bool lingers = false;                    ///< ranks with an error keep their communicators for a while
  bool leaves_survivors = false;           ///< the launcher does not end the ranks that are left
  bool checks = false;                     ///< TUTTI_CHECK
  std::chrono::milliseconds timeout{};     ///< TUTTI_TIMEOUT; zero: not set
  std::chrono::milliseconds rendezvous{};  ///< TUTTI_RENDEZVOUS_TIMEOUT
  std::chrono::milliseconds limit{};       ///< within which the others must have their error
  std::chrono::milliseconds deadline{};    ///< a job whose ranks report nothing for so long hangs
};

/// A job that lasts this many deadlines hangs in any case.
inline constexpr int kMostDeadlines = 8;

[[nodiscard]] RunPlan make_run_plan(const RunId& id);

/// Ranks of the job that are members of this rank's second communicator, in order.
[[nodiscard]] std::vector<int> members_of_second(const RunPlan& plan, int rank);

/// "SIGKILL", "count", "flip": the form of the fault.
[[nodiscard]] std::string variant_name(const RunPlan& plan);

}  // namespace tutti::test::campaign
