#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "report/profile.hpp"

/// Comparison of the ranks' times of arrival at their collectives.
namespace tutti::profiling {

/// Sums over the compared operations of a communicator, of one rank.
struct RankArrivals {
  int process = -1;
  std::uint64_t operations = 0;
  std::uint64_t last = 0;              ///< operations to which the rank came last
  std::uint64_t others_waited_ns = 0;  ///< waiting of the other ranks at those
  std::uint64_t waited_ns = 0;         ///< own waiting: from its arrival to the last arrival, at most its whole call
  std::uint64_t transfer_ns = 0;       ///< the rest of its calls
};

/// Operations of the same kind, size, label and region.
struct OperationArrivals {
  std::uint64_t operations = 0;
  std::uint64_t waited_ns = 0;        ///< of all ranks
  std::uint64_t transfer_ns = 0;      ///< of all ranks
  std::map<int, std::uint64_t> last;  ///< by rank
};
struct OperationKind {
  std::string operation, label, region;
  std::uint64_t bytes = 0;
  auto operator<=>(const OperationKind&) const = default;
};

struct CommunicatorArrivals {
  std::uint64_t key = 0;
  std::string name;
  int size = 0;
  std::uint64_t compared = 0;            ///< operations of which every rank has a record
  std::uint64_t incomplete = 0;          ///< operations that lack at least one rank; not compared
  std::uint64_t unequal = 0;             ///< operations whose records contradict each other; not compared
  std::map<int, std::uint64_t> missing;  ///< by rank: incomplete operations that lack it
  std::map<int, RankArrivals> ranks;
  std::map<OperationKind, OperationArrivals> kinds;
  bool several_hosts = false;
  /// By how much the hosts' clocks are wrong at least: an allreduce cannot end on a rank before all have arrived.
  std::uint64_t clock_error_ns = 0;
};

/// Compares the operations that have the same communicator key and sequence number, on synchronised clocks: processes
/// of one host share a clock; those of several hosts are compared by CLOCK_REALTIME. Messages between two ranks are
/// left out, and communicators of one rank.
[[nodiscard]] std::vector<CommunicatorArrivals> compare_arrivals(const Profile& profile);

/// Communication of a rank and its threads' time outside of calls meanwhile.
struct RankOverlap {
  int process = -1;
  std::uint64_t operations = 0;
  std::uint64_t asynchronous = 0;     ///< operations during which their thread began something else
  std::uint64_t asynchronous_ns = 0;  ///< time during which at least one of them, or its device work, was under way
  std::uint64_t free_ns = 0;          ///< the part of it during which the thread was in no recorded call
  bool sees_calls = false;            ///< single host calls were recorded
};

/// Per process that has operations.
[[nodiscard]] std::vector<RankOverlap> measure_overlap(const Profile& profile);

}  // namespace tutti::profiling
