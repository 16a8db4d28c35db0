#pragma once

#include <optional>

namespace tutti::bench {

/// Current time in nanoseconds of a cache line from the first to the last core of this process: two threads pass a
/// number back and forth. On a virtual machine this time, and that of all communication between cores, changes when the
/// host moves the cores. Nothing if there is only one core.
[[nodiscard]] std::optional<double> core_distance_ns();

}  // namespace tutti::bench
