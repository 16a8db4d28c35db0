#pragma once

#include <cupti.h>

namespace tutti::profiling::cuda {

/// Functions of CUPTI, opened at run time: programs without CUPTI must run unchanged.
struct CuptiLibrary {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_clock = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;  ///< may be null

  /// Whether it is of the version whose structures this source knows.
  bool has_known_records = false;

  [[nodiscard]] bool is_complete() const noexcept {
    return get_version != nullptr && subscribe != nullptr && enable_domain != nullptr &&
           register_callbacks != nullptr && register_clock != nullptr && enable != nullptr &&
           get_next_record != nullptr && get_dropped != nullptr && flush_all != nullptr;
  }
};

/// The CUPTI that the program has loaded, that its search path finds, that is beside its CUDA runtime, or of the
/// toolkit in /usr/local/cuda. Incomplete if there is none. Stays open.
[[nodiscard]] CuptiLibrary open_cupti() noexcept;

}  // namespace tutti::profiling::cuda
