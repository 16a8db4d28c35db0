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
#include "failure.hpp"
#include "segment/channels.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::native {

class Engine;

/// An operation that was issued and not yet seen to be complete. Lies on the stack of a blocking call or in the object
/// of an asynchronous one; leaves the engine's lists when it is destroyed.
class Task {
 public:
  /// `operation` must outlive it.
  Task(Engine& engine, const Operation& operation);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] bool done() const noexcept { return done_; }
  /// The timeout counts from now; otherwise from the first time somebody had to sleep for it.
  void start_clock() noexcept { begun_ = std::chrono::steady_clock::now(); }

 private:
  friend class Engine;
  friend class TaskList;

  Engine& engine_;
  const Operation& operation_;
  std::uint64_t number_ = 0;  // of a collective
  Message message_;           // of a send or recv
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

/// A rank's side of a communicator. Collectives go on one at a time in the order they were issued; messages go on at
/// any time, those with one peer in one direction in the order they were issued. Whoever waits for one task progresses
/// all.
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
  /// One round of progress for whatever there is.
  void nudge() { (void)progress(); }
  /// From any thread.
  void abort() noexcept;

  [[nodiscard]] int rank() const noexcept { return channels_.rank(); }
  [[nodiscard]] int size() const noexcept { return channels_.size(); }
  [[nodiscard]] DeviceReach& device_reach() noexcept { return device_reach_; }
  /// Whether a task of an operation on device memory would be a DeviceExchange; the same answer on all ranks.
  [[nodiscard]] bool may_meet_on_device(const Operation& operation) const noexcept;
  /// While this rank uses device memory of others. Throws if the communicator has failed: the memory may be gone.
  class Visit {
   public:
    Visit(Engine& engine, const Operation& operation);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Engine& engine_;
  };
  /// Tells all of an error of this rank outside of a task, unless they know of one, and returns when no thread of this
  /// process uses this rank's memory any more.
  void give_up(const Error& error) noexcept;

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

  /// After a failure was posted: returns when no thread of this process uses this rank's buffers any more.
  void quiesce() const noexcept;
  bool nap(Task& task, spi::Deadline until);
  [[nodiscard]] static Clock::time_point deadline_of(const Task& task) noexcept;
  void check_health(Task& task, Clock::time_point now);
  void check_deadline(Task& task, Clock::time_point now);
  void check_peers(const Operation& operation);
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
  TaskList collectives_;
  TaskList messages_;
  Collective active_;                 // the front of collectives_, once it has been admitted
  std::uint64_t issued_ = 0;          // collectives
  std::uint64_t known_complete_ = 0;  // all ranks are through with the collectives up to this one
  std::vector<std::uint64_t> busy_;   // by peer and direction: round in which an earlier message blocked
  std::uint64_t round_ = 0;
  std::int32_t hint_ = kAnyone;  // whose doing would unblock what is blocked
  Clock::time_point last_probe_ = {};
  std::optional<Failure> failure_;
};

}  // namespace tutti::native
