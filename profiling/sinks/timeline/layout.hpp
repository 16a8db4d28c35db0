#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/profile.hpp"

/// Events of a process arranged on tracks, for viewers whose slices on a track must nest.
namespace tutti::profiling {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// A line of the timeline.
struct Track {
  enum class Kind : std::uint8_t {
    thread,            ///< calls and synchronous operations of a thread, nested
    async_operations,  ///< operations of a thread that overlap others; several with the same name where these overlap
    device,            ///< work of a device; several with the same name where it overlaps
    copies,            ///< explicit copies of a device
    tensors,           ///< parent of the named tensors of an engine; without slices
    tensor,            ///< stages of a named tensor, nested
    memory,            ///< a counter: bytes allocated
  };
  Kind kind = Kind::thread;
  std::uint32_t parent = kNone;  ///< index of a track before this one; kNone: the process
  std::uint32_t thread = 0;      ///< system-wide id; 0: not of a thread
  std::string name;
};

/// An interval on a track, in the clock that all processes share.
struct Slice {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t track = 0;
  std::uint32_t event = kNone;  ///< index within the events that were laid out; kNone: a region
  std::uint32_t region = 0;     ///< of a region: index of Profile::names
  std::uint32_t moved_ns = 0;   ///< time by which a begin was moved so that device work does not precede its call
};

/// Device work and the call that started it.
struct Flow {
  std::uint32_t from = 0;  ///< index of a slice
  std::uint32_t to = 0;
};

/// A value of a memory counter from this time on.
struct CounterPoint {
  std::uint64_t time_ns = 0;
  std::uint64_t value = 0;
  std::uint32_t track = 0;
};

struct Layout {
  std::vector<Track> tracks;         ///< in the order in which they are to be shown, parents before children
  std::vector<Slice> slices;         ///< by track, then by begin, outer ones before those within them
  std::vector<Flow> flows;           ///< by `from`
  std::vector<CounterPoint> points;  ///< by track, then by time
};

/// Events of one process; `Profile::events` is ordered by process.
[[nodiscard]] std::span<const EventRow> events_of(const Profile& profile, int process);

/// Arranges the events of one process. Throws std::length_error for more than 2^31 events.
[[nodiscard]] Layout lay_out(const Profile& profile, int process);

/// Numbers of processes in the order in which they are to be shown: by host, then by rank, then by pid.
[[nodiscard]] std::vector<int> display_order(const Profile& profile);

}  // namespace tutti::profiling
