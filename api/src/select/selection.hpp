#pragma once

#include <string>
#include <string_view>

#include "tutti/config.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// The backend a group agreed on and why.
struct Selection {
  const spi::BackendModule* module = nullptr;
  std::string reason;
};

/// Exchanges host, process and NUMA node of the ranks. Collective.
[[nodiscard]] spi::Peers meet(const Rendezvous& rendezvous);

/// Chooses the backend of a group. Collective: a backend is taken only if it is usable on every rank, and all ranks
/// take the same one. TUTTI_BACKEND names one (or "auto"); `foreign` is set when the application handed over a
/// communicator, whose backend is then taken. Throws Error{backend_unavailable} that names the rank and its reason.
[[nodiscard]] Selection select(const Rendezvous& rendezvous, const spi::Peers& peers, const Config& config,
                               const spi::ForeignHandle* foreign = nullptr);

}  // namespace tutti
