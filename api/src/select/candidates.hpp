#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tutti/backend_spec.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// The spec that lets tutti choose.
inline constexpr std::string_view kAuto = "auto";

/// A module that a spec may mean, and its answer for a group.
struct Candidate {
  const spi::BackendModule* module = nullptr;
  spi::Probe probe;
};

using Candidates = std::map<std::string, Candidate>;

/// Per backend name the variant that serves this group best; a backend that cannot is there with its reason. For `auto`
/// all backends that stand on no other one, else those called as the spec says. `peers`: null if no group is known.
[[nodiscard]] Candidates probe_all(const spi::Peers* peers, const Config& config, const BackendSpec& wanted);

/// Names of the backends there are, each after ", ", for messages.
[[nodiscard]] std::string known_names(const Config& config);

}  // namespace tutti
