#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call/dropped_works.hpp"
#include "call/forked_child.hpp"
#include "check/call_comparison.hpp"
#include "launch/job_membership.hpp"
#include "select/selection.hpp"
#include "staging/progress_thread.hpp"
#include "tutti/call_state.hpp"
#include "tutti/communicator.hpp"
#include "tutti/placement.hpp"
#include "tutti/spi/module.hpp"
#include "watch/peer_progress.hpp"
#include "watch/progress_board.hpp"
#include "watch/watcher.hpp"

namespace tutti {

namespace detail {

/// State that the copies of a Communicator share.
struct CommunicatorState : CallState {
  CommunicatorState(const Rendezvous& meeting, const CommunicatorOptions& options);
  /// In a child of the process that made it: the backend is left as it is.
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  CountedCommunicator process;
  ProgressEntry board_entry;   ///< what other processes see of this rank; outlives the backend
  PeerProgress peer_progress;  ///< what this rank sees of the others

  /// Of the job that the communicator belongs to; outlives the rendezvous. Null if the application made the rendezvous.
  std::shared_ptr<JobMembership> membership;

  int rank;
  int size;
  std::uint64_t id;  ///< of the communicator in this process, for observers
  std::string name;
  std::string job;  ///< id of the job, the same on all its ranks
  Config config;
  Rendezvous rendezvous;
  spi::Peers peers;
  std::vector<int> job_ranks;          ///< by rank: its rank in the communicator that was split first; empty: the same
  std::string rank_names;              ///< describe_ranks() of them, for errors
  LocalRanks local_ranks;              ///< of the group that this one was split from first
  std::optional<Placement> placement;  ///< once it was asked for
  Selection selection;
  std::unique_ptr<spi::BackendCommunicator> backend;
  /// Stands for the backend in calls that go straight to it; null where the calls of the ranks are not compared so.
  std::unique_ptr<CallComparison> comparison;
  std::unique_ptr<ProgressThread> progress;  ///< uses the backend, so it goes first; null until an operation needs it
  DroppedWorks dropped_works;                ///< likewise

  /// Longest time of an operation that the watcher allows, and its reaction; see watch/watcher.hpp.
  std::chrono::nanoseconds hang_time = kDefaultTimeout;
  OnHang on_hang = OnHang::error;
  bool is_watched = false;

  bool strict = false;
  bool is_reported = false;          ///< observers know of it
  bool has_progress_thread = false;  ///< asynchronous collectives go on without the caller

  [[nodiscard]] bool is(Special what) const noexcept { return (special.load(std::memory_order_relaxed) & what) != 0; }
  void set(Special what) noexcept { special.fetch_or(what, std::memory_order_relaxed); }
  void clear(Special what) noexcept { special.fetch_and(~std::uint32_t{what}, std::memory_order_relaxed); }
  /// Waits for what is being staged, after which the backend is the caller's.
  void finish_staging();
  /// Keeps an error that ends the communicator where others can see it; any other error is ignored.
  void note_failure(const Error& error) noexcept;
  /// The error of a call with the ranks of the job and the reasons of ranks that have left, after note_failure().
  [[nodiscard]] Error completed(const Error& error);
  /// In a handler of a call that failed: throws the exception as an Error as completed() makes it. An exception that is
  /// no Error, for lack of memory, ends the communicator on all ranks: they would wait for this rank's part.
  [[noreturn]] void end_failed_call();
  /// The error of a call that failed, or the mismatch of the ranks' calls that it follows from; with the place of the
  /// call, where that may be the reason. In the thread of the call.
  [[nodiscard]] Error with_mismatch(const Error& error);
  /// Compares the calls of the ranks of this host from now on, if the backend does not; see CallComparison.
  void begin_comparison();
  /// Watches the other ranks from now on, if the backend does not.
  void begin_watch();
  /// Takes the backend's side into use.
  void adopt(std::unique_ptr<spi::BackendCommunicator> created);

  // Written by the calls, which the caller orders.
  std::uint64_t children = 0;  ///< splits so far
};

}  // namespace detail

}  // namespace tutti
