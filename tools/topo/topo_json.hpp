#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "topo/topo_map.hpp"

namespace tutti::tools {

/// The document that `tutti topo --json` writes: {version, predicted, hosts, legend}; the fields of a host are those of
/// HostMap.
[[nodiscard]] nlohmann::ordered_json topo_document(std::span<const HostMap> hosts, bool is_predicted);

/// Serialises a map for another process.
[[nodiscard]] std::string encode(const HostMap& map);
/// The map from encode(). Throws nlohmann::json::exception for any other text.
[[nodiscard]] HostMap decode_map(const std::string& text);

}  // namespace tutti::tools
