#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "device_memory.hpp"
#include "device_work.hpp"
#include "function_table.hpp"
#include "runtime_devices.hpp"
#include "sources/common/handle_table.hpp"
#include "sources/common/memory_ranges.hpp"
#include "sources/common/open_calls.hpp"
#include "sources/common/traffic_names.hpp"
#include "xpti_api.hpp"

namespace tutti::profiling {

/// Makes records of the calls of the Unified Runtime. One object per process, never destroyed: calls come until the
/// very end of the process. Thread-safe.
class CallRecorder {
 public:
  /// `version`: the minor version of the Unified Runtime. `force_times`: turn the profiling of queues on that the
  /// program makes without it.
  CallRecorder(unsigned version, bool force_times) noexcept;

  void begin(const xpti::FunctionWithArguments& call, std::uint64_t instance) noexcept;
  void end(const xpti::FunctionWithArguments& call, std::uint64_t instance) noexcept;

 private:
  struct Function {
    FunctionLayout layout;
    NameId name = 0;
    bool is_recorded = true;
    TrafficNames traffic;
  };
  struct QueueFacts {
    ur::Device device = nullptr;
    bool tells_times = false;
  };
  /// A call that has succeeded.
  struct Success {
    Function& function;
    void** arguments;
    std::uint64_t begin_ns;
    std::uint64_t correlation;
    MemoryBlock released;
    bool is_recorded;
  };

  [[nodiscard]] Function* function_of(const xpti::FunctionWithArguments& call) noexcept;
  void force_queue_times(void** arguments) noexcept;
  void force_event(const FunctionLayout& layout, void** arguments) noexcept;
  void note_success(const Success& call) noexcept;
  void note_allocation(const Success& call) noexcept;
  void note_release(const Success& call) noexcept;
  void note_traffic(const Success& call) noexcept;
  void note_device_work(const Success& call, NameId name) noexcept;
  void note_launch(const Success& call) noexcept;
  void note_queue(const Success& call) noexcept;

  const SourceId source_;
  const bool records_queries_;
  const bool forces_times_;
  const unsigned version_;
  RuntimeDevices devices_;
  DeviceMemory device_memory_;
  DeviceWork work_;
  MemoryRanges memory_;
  HandleTable<QueueFacts> queues_;
  HandleTable<NameId> kernels_;
  std::array<std::atomic<Function*>, 1024> functions_{};  ///< by the runtime's number of the function
};

}  // namespace tutti::profiling
