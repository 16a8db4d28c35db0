#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "topo/topo_map.hpp"

namespace tutti::tools {

/// What `tutti topo --json` writes: {version, predicted, hosts, legend}; the fields of a host are those of HostMap.
[[nodiscard]] nlohmann::ordered_json topo_document(std::span<const HostMap> hosts, bool is_predicted);

/// A map as text for another process.
[[nodiscard]] std::string encode(const HostMap& map);
/// Throws std::runtime_error when the text is none.
[[nodiscard]] HostMap decode_map(const std::string& text);

}  // namespace tutti::tools
