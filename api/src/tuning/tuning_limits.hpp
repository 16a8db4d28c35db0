#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Limits of tuning files, far above those that tutti writes.
inline constexpr std::size_t kLargestTuningFile = std::size_t{1} << 20;
inline constexpr std::size_t kMostTunedRows = 4096;
inline constexpr std::size_t kMostTunedBackends = 32;
inline constexpr std::size_t kMostTunedTimes = 256;
inline constexpr std::size_t kMostTunedEngines = 256;
inline constexpr std::size_t kMostEngineValues = 64;
inline constexpr std::uint64_t kLargestTunedSize = std::uint64_t{1} << 59;

}  // namespace tutti
