#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "autotune/autotuner.hpp"
#include "engine/departure.hpp"
#include "engine/entry.hpp"
#include "engine/executor.hpp"
#include "engine/inner_switch.hpp"
#include "engine/schedule.hpp"
#include "engine/stall_watch.hpp"
#include "engine/tensor_queue.hpp"
#include "negotiation/controller.hpp"
#include "negotiation/round_exchange.hpp"
#include "timeline/tensor_stages.hpp"
#include "timeline/timeline.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::horovod {

/// The engine of a process set: tensors come in by name from any thread, the ranks negotiate which of them all have,
/// and carry these out in the same order.
///
/// A cycle is driven by one thread at a time: by a thread that waits for a tensor, else by the background thread, which
/// begins one cycle time after the first tensor or as soon as enough tensors for a full fusion buffer are there. A rank
/// without tensors takes part in no round; a rank with tensors sleeps in the round until all ranks have come to it.
class SetEngine {
 public:
  struct Options {
    Controller::Options controller = {};
    std::uint64_t piece_bytes = 0;
    std::size_t adasum_message = std::size_t{1} << 30;
    StallInspector::Options stalls = {.enabled = false};
    int core = -1;                        ///< of the background thread; -1: any
    InnerSwitch* inner_switch = nullptr;  ///< the communicator for data, if autotune chooses among inner backends
    /// Told about tensors that are late, by the ranks that have not submitted them; without any when they are complete.
    std::function<void(const StallInspector::Missing&)> shows_stall = {};
  };

  /// Both communicators are of the ranks of the set and of the inner backend. `tuner`: on the first rank, if it tunes.
  SetEngine(std::unique_ptr<spi::BackendCommunicator> control, std::unique_ptr<spi::BackendCommunicator> data,
            Rendezvous meeting, const Options& options, std::unique_ptr<Autotuner> tuner = nullptr);
  /// Shuts down.
  ~SetEngine();
  SetEngine(const SetEngine&) = delete;
  SetEngine& operator=(const SetEngine&) = delete;

  /// Takes tensors in, those of one call as a group of the response if they say so. `quiet`: the caller is about to
  /// wait() for them, so that the background thread need not wake up. Throws upstream's error for a name in use, after
  /// shutdown() or after a failure.
  void enqueue(std::span<const EntryPointer> entries, bool quiet);
  /// Makes ready for tensors in memory of that stream's context. Throws Error{invalid_argument} if the engine has taken
  /// memory of another one before.
  void use_device(const Stream& stream);
  /// Whether the inner backend takes device memory of a module, for an operation of that kind.
  [[nodiscard]] bool takes_device(std::string_view module, const Operation& operation) const;
  /// Drives the engine or waits for the thread that does until the tensor is complete (true) or `until` has passed
  /// (false). Does not throw the tensor's error.
  [[nodiscard]] bool wait(Entry& entry, spi::Deadline until);
  /// After a wait() in vain: the ranks that have not submitted the tensor, and the tensors of this rank that they lack.
  /// Asks them, which takes seconds, but not longer than the timeout of the tensor's operation; empty if that gives no
  /// answer, or if the tensor is complete meanwhile.
  [[nodiscard]] StallInspector::Missing missing_ranks(const Entry& entry);
  /// Whether the tensor is complete; the background thread begins its cycle now if it waits for the clock.
  [[nodiscard]] bool poll(Entry& entry);
  /// Throws the error of a tensor that is complete.
  static void rethrow(const Entry& entry);

  /// Ends the engine: the tensors fail with `error` from now on, on this rank, and on the others if the inner backend
  /// can notify them.
  void fail(const Error& error) noexcept;
  /// The same for a cause that is seen from outside; see BackendCommunicator::interrupt().
  bool interrupt(const Error& cause) noexcept;
  /// Leaves the set: tensors in flight end with upstream's shutdown error, here and on the other ranks.
  void shutdown() noexcept;
  void close() noexcept;

  /// Writes a timeline on the first rank; nothing happens on the others.
  void start_timeline(const std::string& path, bool marks_cycles);
  void stop_timeline();

  [[nodiscard]] Parameters parameters() const;
  void set_parameters(const Parameters& parameters);

  /// Upstream's warning about tensors that some ranks have not submitted, as of the last check; empty: there are none.
  [[nodiscard]] std::string stall_warning() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Step : std::uint8_t {
    fruitless,  ///< a round in which no tensor was complete
    progressed,
    unfinished,  ///< the time has passed
  };
  struct Hit {
    EntryPointer entry;
    std::uint32_t position;
  };

  void run_thread();
  void wake_thread(Clock::time_point due);
  void drive(Lock& lock, const Entry* entry, spi::Deadline until);
  void rest(Lock& lock, spi::Deadline until);
  [[nodiscard]] Step step(spi::Deadline until);
  void begin_round();
  void classify(std::vector<EntryPointer> fresh, RoundMessage& message);
  [[nodiscard]] bool perform(spi::Deadline until);
  void admit(std::vector<Response> responses);
  /// How a tensor is looked up: it stays in the queue or is taken out of it.
  using Lookup = EntryPointer (TensorQueue::*)(const std::string& name);
  [[nodiscard]] std::vector<EntryPointer> find_entries(const Response& response, Lookup lookup);
  [[nodiscard]] bool begin(Job& job);
  [[nodiscard]] Executor::Progress carry_out(Job& job, spi::Deadline until);
  void complete(std::vector<EntryPointer> entries, const Error* error);
  void end_all(Lock& lock);
  void show_negotiation(std::span<const RoundMessage> messages);
  void show_begin(const Response& response);
  void look_into_round();
  [[nodiscard]] Error reason_of(Error failure);
  void take(const StallInspector::Report& report);
  void forget_stalled(std::span<const EntryPointer> complete);
  void show_end(const Response& response);
  /// Waits until the deadline passed to it; true: the wait has ended.
  using Wait = std::function<bool(spi::Deadline)>;
  [[nodiscard]] bool wait_in_slices(spi::Deadline until, bool may_stop, const Wait& wait);
  [[nodiscard]] bool has_work() const;

  std::unique_ptr<spi::BackendCommunicator> control_;
  std::unique_ptr<spi::BackendCommunicator> data_;
  Departure departure_;
  TensorStages stages_;
  bool is_first_;  ///< the rank that decides the parameters and writes the timeline
  Timeline timeline_;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> is_answered_ = false;  ///< there is an answer_
  InnerSwitch* inner_switch_;
  std::function<void(const StallInspector::Missing&)> shows_stall_;
  int core_;

  mutable std::mutex mutex_;             // guards the following
  std::condition_variable driver_left_;  // or a tensor is complete
  std::condition_variable tensors_came_;
  std::condition_variable thread_wakes_;
  TensorQueue queue_;
  std::unique_ptr<DevicePlace> device_;  ///< used by the driver; null: there has been no tensor in device memory
  std::optional<Error> failure_;
  bool is_driven_ = false;
  bool is_resting_ = false;     ///< the driver waits between two rounds
  bool thread_sleeps_ = false;  ///< until it is woken
  int waiters_ = 0;
  Clock::time_point due_ = {};  ///< of the background thread's next cycle
  Parameters parameters_;
  std::optional<Parameters> wanted_parameters_;
  std::string stall_warning_;
  StallInspector::Names stalled_;  ///< tensors that have been shown as late
  std::optional<StallInspector::Missing> answer_;
  std::thread thread_;

  // Used by the driver only.
  Controller controller_;
  RoundExchange exchange_;
  Executor executor_;
  std::vector<Hit> hits_;       ///< tensors in the response cache that wait for the other ranks
  std::uint64_t erasures_ = 0;  ///< of the cache when the positions of hits_ were found
  Schedule schedule_;
  bool is_performing_ = false;   ///< jobs of the schedule, else a round is next
  std::uint64_t rounds_ = 0;     ///< that have been completed
  std::uint64_t fruitless_ = 0;  ///< rounds since the last one that completed a tensor
  std::unique_ptr<Autotuner> tuner_;
  StallWatch stalls_;
};

/// Name of the inner backend that carries out what is not switched to another one.
[[nodiscard]] std::string inner_name(spi::BackendCommunicator& data);

/// Upstream's text for tensors that a shutdown ends.
[[nodiscard]] Error shutdown_error();

}  // namespace tutti::horovod
