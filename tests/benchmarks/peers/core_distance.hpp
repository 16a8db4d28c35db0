#pragma once

#include <optional>

namespace tutti::bench {

/// Nanoseconds that a cache line takes from the first core this process may use to the last, now: two threads pass a
/// number to and fro. On a virtual machine it changes when the cores below are changed, and with it everything that
/// goes from core to core. Nothing where there is one core only.
[[nodiscard]] std::optional<double> core_distance_ns();

}  // namespace tutti::bench
