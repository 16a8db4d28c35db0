#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::bench {

/// Distance of the first core from the last during some rounds. Cores that share a cache are near; cores of different
/// sockets or clusters are far. A virtual machine whose host moves the cores has both, in turns.
enum class CoreState : std::uint8_t { unknown, near, far, mixed };
[[nodiscard]] std::string_view name(CoreState state) noexcept;

/// Cores are near if a cache line takes less than that from one to the other.
inline constexpr double kNearBelowNs = 100;

/// Share of the rounds in which the cores were near; 0 without rounds.
[[nodiscard]] double near_share(const std::vector<double>& distances_ns) noexcept;
/// `mixed` unless three quarters of the rounds agree.
[[nodiscard]] CoreState core_state(const std::vector<double>& distances_ns) noexcept;
/// The state in most rounds, which decides medians over the rounds: never `mixed`.
[[nodiscard]] CoreState usual_core_state(const std::vector<double>& distances_ns) noexcept;

}  // namespace tutti::bench
