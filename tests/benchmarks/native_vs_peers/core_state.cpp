#include "core_state.hpp"

#include <algorithm>

namespace tutti::bench {

std::string_view name(CoreState state) noexcept {
  switch (state) {
    case CoreState::near:
      return "near";
    case CoreState::far:
      return "far";
    case CoreState::mixed:
      return "mixed";
    case CoreState::unknown:
      break;
  }
  return "unknown";
}

double near_share(const std::vector<double>& distances_ns) noexcept {
  if (distances_ns.empty()) return 0;
  const auto near = std::ranges::count_if(distances_ns, [](double ns) { return ns < kNearBelowNs; });
  return static_cast<double>(near) / static_cast<double>(distances_ns.size());
}

CoreState core_state(const std::vector<double>& distances_ns) noexcept {
  constexpr double kMost = 0.75;
  if (distances_ns.empty()) return CoreState::unknown;
  const double near = near_share(distances_ns);
  if (near >= kMost) return CoreState::near;
  return near <= 1 - kMost ? CoreState::far : CoreState::mixed;
}

CoreState usual_core_state(const std::vector<double>& distances_ns) noexcept {
  if (distances_ns.empty()) return CoreState::unknown;
  return near_share(distances_ns) >= 0.5 ? CoreState::near : CoreState::far;
}

}  // namespace tutti::bench
