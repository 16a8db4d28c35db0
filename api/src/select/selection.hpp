#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuning/tuning_plan.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/config.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// The backend that a group agreed on.
struct Selection {
  const spi::BackendModule* module = nullptr;
  std::string rest = {};                ///< the spec after the module's name
  std::string product = {};             ///< the product of the library that serves, where the module has several
  std::string reason = {};              ///< why it was chosen; empty: the spec names it
  spi::Capabilities capabilities = {};  ///< as probed
  std::shared_ptr<const TuningPlan> plan = {};  ///< of `auto` where it routes operations; else null
};

/// Probes the best variant of the backend that a spec names; for "auto" of all. `peers`: null if no group is known.
[[nodiscard]] spi::Probe probe_spec(const BackendSpec& spec, const spi::Peers* peers, const Config& config);

/// Chooses the backend of a group. Collective: a backend is taken only if it is usable on every rank, and all ranks
/// take the same one. Throws Error{backend_unavailable} that names the rank and its reason.
/// `tuned`: for "auto", pins and the tuning file may route operations to several backends.
[[nodiscard]] Selection select(const Rendezvous& rendezvous, const spi::Peers& peers, const Config& config,
                               const BackendSpec& spec, bool tuned = false);

/// The plan and the reason of `auto` for a group of which no other rank is asked: all are taken to be like this
/// process.
[[nodiscard]] Selection select_for(const spi::Peers& peers, const Config& config);

/// Creates this rank's side of a communicator and applies the requirements of the settings. Collective.
[[nodiscard]] std::unique_ptr<spi::BackendCommunicator> create(const Selection& selection,
                                                               const spi::CreateContext& context);

}  // namespace tutti
