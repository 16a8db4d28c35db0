#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "timeline/timeline_writer.hpp"

namespace tutti::horovod {

/// Upstream's timeline: a Chrome trace in which every tensor is a process. A tensor is negotiated (NEGOTIATE_ALLREDUCE,
/// with a mark when a rank is ready), then worked on (ALLREDUCE) in activities (MEMCPY_IN_FUSION_BUFFER, ...).
///
/// Calls that do not fit the state of a tensor are passed over, so that a timeline may be started in the middle of a
/// job. Without a started timeline a call costs the test of a flag. Thread-safe.
class Timeline {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Timeline() = default;
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Creates the file and writes from now on; a timeline that is running is stopped first. Throws Error{system} that
  /// names the file.
  void start(const std::string& path, bool marks_cycles);
  /// Completes the file. Returns the error of the writing; empty if all is written. Nothing happens without a timeline.
  std::string stop();
  [[nodiscard]] bool is_running() const noexcept { return running_.load(std::memory_order_acquire); }

  /// `operation`: "ALLREDUCE". Repeated calls until the end of the negotiation change nothing.
  void negotiation_started(const std::string& tensor, std::string_view operation, Time now);
  void rank_ready(const std::string& tensor, int rank, Time now);
  void negotiation_ended(const std::string& tensor, Time now);

  void operation_started(const std::string& tensor, std::string_view operation, Time now);
  /// Ends the activity before, if there is one.
  void activity_started(const std::string& tensor, std::string_view activity, Time now);
  void activity_started(std::span<const std::string> tensors, std::string_view activity, Time now);
  void activity_ended(const std::string& tensor, Time now);
  void activity_ended(std::span<const std::string> tensors, Time now);
  /// `type` and `shape` ("[2, 3]") are shown with the operation; empty: they are not.
  void operation_ended(const std::string& tensor, std::string_view type, std::string_view shape, Time now);

  /// A cycle of the engine begins; written if start() asked for it.
  void cycle_started(Time now);

 private:
  enum class State : std::uint8_t { unknown, negotiating, top_level, activity };
  struct Tensor {
    int number = 0;
    State state = State::unknown;
  };

  /// Calls f(tensor) with the lock held if a timeline is running.
  template <typename F>
  void with(const std::string& tensor, F&& f);
  void begin(const Tensor& tensor, std::string_view name, Time now);
  void end(const Tensor& tensor, Time now, std::string arguments = {});

  std::atomic<bool> running_ = false;
  std::mutex mutex_;  ///< before that of the writer
  std::optional<TimelineWriter> writer_;
  bool marks_cycles_ = false;
  std::unordered_map<std::string, Tensor> tensors_;
};

}  // namespace tutti::horovod
