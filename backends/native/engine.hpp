#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "algorithms/broadcast_stream.hpp"
#include "algorithms/direct.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/message.hpp"
#include "algorithms/pair_exchange.hpp"
#include "algorithms/reach.hpp"
#include "algorithms/reduce_pipeline.hpp"
#include "core_spread.hpp"
#include "device/device_exchange.hpp"
#include "device/device_reach.hpp"
#include "exit_mark.hpp"
#include "failure.hpp"
#include "segment/channels.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

class Engine;

/// An operation that was issued and is not known to be complete. Lives on the stack of a blocking call or in the object
/// of an asynchronous one; the destructor removes it from the engine's lists. If it is not done by then, the
/// communicator ends on all ranks, see Engine::renounce().
class Task {
 public:
  /// `operation` must outlive the task.
  Task(Engine& engine, const Operation& operation);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Starts the timeout now; without this it starts when a caller first has to wait.
  void start_clock() noexcept { begun_ = std::chrono::steady_clock::now(); }

 private:
  friend class Engine;
  friend class TaskList;

  Engine& engine_;
  const Operation& operation_;
  std::uint64_t number_ = 0;  // collectives only
  Message message_;           // send and recv only
  std::chrono::steady_clock::time_point begun_ = {};
  Task* next_ = nullptr;
  bool done_ = false;
};

/// Tasks in the order they were issued.
class TaskList {
 public:
  [[nodiscard]] Task* front() const noexcept { return first_; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void append(Task& task) noexcept;
  void remove(Task& task) noexcept;

 private:
  Task* first_ = nullptr;
  Task* last_ = nullptr;
};

/// A rank's side of a communicator. Collectives progress one at a time in the order of issue. Messages progress at any
/// time; those with one peer in one direction keep the order of issue. A thread that waits for one task progresses all
/// tasks.
class Engine {
 public:
  /// Collective over the rendezvous of the context.
  explicit Engine(const spi::CreateContext& context);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Throws if the communicator has failed.
  void check_alive(const Operation& operation);
  /// Progresses until the task is done (true) or `until` has passed (false).
  [[nodiscard]] bool drive(Task& task, spi::Deadline until);
  /// One round of progress; true when the task is done.
  [[nodiscard]] bool poll(Task& task);
  /// One round of progress for all tasks.
  void nudge() { (void)progress(); }
  /// Makes all ranks fail with Error{aborted}. From any thread.
  void abort() noexcept;

  [[nodiscard]] int rank() const noexcept { return channels_.rank(); }
  [[nodiscard]] int size() const noexcept { return channels_.size(); }
  [[nodiscard]] DeviceReach& device_reach() noexcept { return device_reach_; }
  /// Whether an operation on device memory would run as a DeviceExchange; the same answer on all ranks.
  [[nodiscard]] bool may_meet_on_device(const Operation& operation) const noexcept;
  /// Guard for the time in which this rank uses device memory of other ranks. The constructor throws if the
  /// communicator has failed: the memory may be gone.
  class Visit {
   public:
    Visit(Engine& engine, const Operation& operation);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Engine& engine_;
  };
  /// Reports an error of this rank outside of a task to all ranks, unless a failure is already reported. Then waits
  /// until no other rank uses this rank's device memory: without limit for ranks of this process, otherwise for up to
  /// 5 s.
  void give_up(const Error& error) noexcept;
  /// The same for an exception that is not an Error.
  void give_up(const Operation& operation) noexcept;
  /// Ends the communicator on all ranks, unless it has failed already: this rank will not carry out its part of the
  /// operation, for lack of memory for example. Its next collective would otherwise take the place of this one, and the
  /// results of all ranks would be wrong. Allocates nothing.
  void renounce(const Operation& operation) noexcept;

 private:
  friend class Task;
  using Clock = std::chrono::steady_clock;

  void issue(Task& task) noexcept;
  void withdraw(Task& task) noexcept;

  StepResult progress();
  StepResult progress_collective();
  StepResult progress_messages();
  [[nodiscard]] bool admit(std::uint64_t number) noexcept;
  void begin(const Task& task);
  void begin_rings(const Operation& operation, const Meeting& meeting);
  void complete(Task& task) noexcept;

  template <typename Algorithm>
  StepResult step(const Task& task, Algorithm& algorithm);
  StepResult step(const Task& task, std::monostate& nothing);

  /// After a failure was posted: waits until no other rank uses this rank's memory; false if another process still does
  /// when `limit` has passed. Ranks of this process are waited for without limit.
  [[nodiscard]] bool quiesce(Clock::duration limit) const noexcept;
  bool nap(Task& task, spi::Deadline until);
  [[nodiscard]] static Clock::time_point deadline_of(const Task& task) noexcept;
  void check_health(Task& task, Clock::time_point now);
  void check_deadline(Task& task, Clock::time_point now);
  void check_peers(const Operation& operation);
  void compare_calls();
  [[noreturn]] void fail(ErrorCode code, int culprit, std::string reason, const Operation& operation);
  [[noreturn]] void throw_failure(const Operation& operation) const;

  using Collective =
      std::variant<std::monostate, Flat, Direct, ReducePipeline, BroadcastStream, PairExchange, DeviceExchange>;

  Channels channels_;
  Reach reach_;
  DeviceReach device_reach_;
  FailureBoard board_;
  Patience patience_;
  CoreSpread core_spread_;
  spi::CallProgress* progress_;  // where others see since when this rank waits; may be null
  TaskList collectives_;
  TaskList messages_;
  Collective active_;                 // the front of collectives_, once it has been admitted
  std::uint64_t issued_ = 0;          // number of collectives
  std::uint64_t known_complete_ = 0;  // all ranks have completed the collectives up to this one
  std::vector<std::uint64_t> busy_;   // by peer and direction: round in which an earlier message blocked
  std::uint64_t round_ = 0;
  std::int32_t hint_ = kAnyone;  // rank that can unblock the collective
  Clock::time_point last_probe_ = {};
  std::optional<Failure> failure_;
  ExitMark exit_mark_;
};

}  // namespace tutti::native
