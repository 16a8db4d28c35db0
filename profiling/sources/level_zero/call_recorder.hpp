#pragma once

#include <level_zero/ze_api.h>

#include <array>

#include "command_lists.hpp"
#include "device_memory.hpp"
#include "devices.hpp"
#include "event_times.hpp"
#include "function_table.hpp"
#include "loader.hpp"
#include "own_events.hpp"
#include "sources/common/handle_table.hpp"
#include "sources/common/memory_ranges.hpp"
#include "sources/common/traffic_names.hpp"

namespace tutti::profiling::ze {

/// Makes records of the calls of Level Zero. One object per process, never destroyed: calls come until the very end of
/// the process. Thread-safe.
class CallRecorder {
 public:
  explicit CallRecorder(const Loader& loader) noexcept;

  /// `state`: a word per call that the end gets back. `number`: of the function in kFunctions.
  void begin(std::size_t number, void** arguments, void*& state) noexcept;
  void end(std::size_t number, void** arguments, ze_result_t result, void* state) noexcept;
  /// The last look at everything, at the end of the process.
  void finish() noexcept {
    events_.collect_all();
    device_memory_.sample();
  }

 private:
  /// A call that has succeeded.
  struct Success {
    std::size_t number;
    const Function& function;
    void** arguments;
    std::uint64_t begin_ns;
    std::uint64_t correlation;
    bool is_recorded;
  };
  struct FunctionState {
    NameId name = 0;
    TrafficNames traffic;
  };

  void note_success(const Success& call) noexcept;
  void note_allocation(const Success& call) noexcept;
  void note_release(const Success& call) noexcept;
  void note_touch(const Success& call) noexcept;
  void note_command(const Success& call) noexcept;
  void note_execution(const Success& call) noexcept;
  void note_creation(const Success& call) noexcept;
  void carry_out(const ListedCommand& command, std::uint64_t begin_ns) noexcept;
  void force_timestamps(void** arguments) noexcept;
  void lend_event(const Function& function, void** arguments) noexcept;
  void prepare(const Function& function, void** arguments) noexcept;
  void collect_listed(void** arguments, const Function& function) noexcept;
  void take_from_list(ze_command_list_handle_t list) noexcept;

  const SourceId source_;
  const bool records_queries_;
  const bool forces_times_;
  const Loader loader_;
  Devices devices_;
  DeviceMemory device_memory_;
  OwnEvents own_events_;
  EventTimes events_;
  CommandLists lists_;
  MemoryRanges memory_;
  HandleTable<bool> timestamp_pools_;
  HandleTable<bool> timestamp_events_;
  HandleTable<NameId> kernels_;
  std::array<FunctionState, kFunctions.size()> functions_;
};

}  // namespace tutti::profiling::ze
