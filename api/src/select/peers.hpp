#pragma once

#include <string>
#include <vector>

#include "tutti/rendezvous.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// Exchanges host, process and NUMA node of the ranks. Collective. Each rank also brings a `card`, a text for the
/// others; `cards` gets all of them, by rank.
[[nodiscard]] spi::Peers meet(const Rendezvous& rendezvous, const std::string& card, std::vector<std::string>& cards);

}  // namespace tutti
