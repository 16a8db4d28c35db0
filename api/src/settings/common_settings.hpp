#pragma once

#include <span>

#include "tutti/config.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

/// Compares the settings among `rows` that must be the same on all ranks (Setting::common). Collective. Throws
/// Error{config} on every rank that names the setting, two ranks and their values. `scope` tells simultaneous exchanges
/// apart.
void require_common_settings(const Rendezvous& rendezvous, const Config& config, std::span<const Setting> rows,
                             std::string_view scope);

}  // namespace tutti
