#pragma once

#include <limits.h>

#include <cstdint>
#include <string_view>

#include "session/recorder.hpp"

namespace tutti::profiling {

/// Settings of the session in this process. Plain arrays: the recorder works before and after the C++ library's
/// objects, and inside of malloc.
struct SessionConfig {
  static constexpr std::size_t kLongestList = 1024;
  static constexpr std::uint64_t kDefaultMemory = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kLeastMemory = std::uint64_t{256} << 10;
  static constexpr std::uint64_t kMostMemory = std::uint64_t{64} << 30;

  char folder[PATH_MAX] = "";       ///< TUTTI_PROF_SESSION; empty: no session
  char temporary[PATH_MAX] = "";    ///< where start() makes a session's folder
  char record[PATH_MAX] = "";       ///< TUTTI_RECORD, the folder of tutti record; empty: no record is made
  char sources[kLongestList] = "";  ///< TUTTI_PROF_SOURCES; empty: all but `memory`
  char ranks[kLongestList] = "";    ///< TUTTI_PROF_RANKS; empty: all
  const char* problem = "";         ///< the setting that is wrong and ignored
  std::uint64_t memory = kDefaultMemory;
  bool paused = false;
  bool timeline = false;
  bool force_device_times = false;  ///< TUTTI_PROF_DEVICE_TIMES
  TracingMode mode = TracingMode::standard;
  int rank = -1;  ///< as the launcher tells it; -1: not told
  int size = 0;
};

/// Reads the environment. The only place in profiling/ that does so.
void read_environment(SessionConfig& config) noexcept;

/// Whether the list of names ("mpi,ze"; "all" is every name) has this name; an empty list has all but `memory`.
[[nodiscard]] bool list_has_source(std::string_view list, std::string_view source) noexcept;

/// Whether the list of ranks ("0,3-5"; empty or -1: all) has this rank.
[[nodiscard]] bool list_has_rank(std::string_view list, int rank) noexcept;

}  // namespace tutti::profiling
