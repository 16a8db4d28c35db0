#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "session/recorder.hpp"

namespace tutti::profiling::nccl::plugin {

/// An operation that NCCL carries out by a kernel. Its channels are parts of the kernel that run side by side, so that
/// its time on the device is from the first begin to the last end.
struct KernelTask {
  std::mutex mutex;
  Record record;
  bool is_open = false;        ///< not all channels have ended
  std::uint32_t channels = 0;  ///< that have not ended; 0 from the begin: their number is not known
  std::uint64_t begin = 0;     ///< in the clock of the device; 0: no channel has ended
  std::uint64_t end = 0;
};

/// A channel of a kernel that runs.
struct KernelChannel {
  std::atomic<bool> is_used = false;
  KernelTask* task = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Device times of NCCL's kernels, as NCCL tells them by their channels. NCCL may use the handle of an operation after
/// it has stopped it: operations keep their places until thousands of others have come. Thread-safe.
class KernelTimes {
 public:
  /// `record`: source, name, context and device.
  [[nodiscard]] KernelTask* begin_task(const Record& record, std::uint32_t channels) noexcept;
  /// Null if thousands of channels run.
  [[nodiscard]] KernelChannel* begin_channel(KernelTask* task, std::uint64_t device_time) noexcept;
  /// The channel gives its place up.
  void end_channel(KernelChannel& channel) noexcept;
  /// The operation, or the channel, that a handle is of; null if it is of neither.
  [[nodiscard]] KernelTask* task_of(void* handle) noexcept { return place_of(tasks_, handle); }
  [[nodiscard]] KernelChannel* channel_of(void* handle) noexcept { return place_of(channels_, handle); }
  /// Records operations of which not all channels have ended, as far as they have.
  void finish() noexcept;

 private:
  static constexpr std::size_t kTasks = 4096;
  static constexpr std::size_t kChannels = 8192;
  template <typename Place, std::size_t size>
  [[nodiscard]] static Place* place_of(std::array<Place, size>& places, void* handle) noexcept {
    const std::less<const void*> is_before;
    const bool is_one = !is_before(handle, places.data()) && is_before(handle, places.data() + size);
    return is_one ? static_cast<Place*>(handle) : nullptr;
  }
  void record_times(KernelTask& task) noexcept;

  std::array<KernelTask, kTasks> tasks_;
  std::array<KernelChannel, kChannels> channels_;
  std::atomic<std::uint32_t> next_task_ = 0;
  std::atomic<std::uint32_t> next_channel_ = 0;
  /// Time of the host less that of the device: the least that was seen when NCCL told the end of a channel, which it
  /// does a little later.
  std::atomic<std::int64_t> offset_ = INT64_MAX;
};

[[nodiscard]] KernelTimes& kernel_times() noexcept;

/// The current device of the thread, as the CUDA driver tells it; `rank` names one where there is none.
[[nodiscard]] DeviceId current_device(int rank) noexcept;

}  // namespace tutti::profiling::nccl::plugin
