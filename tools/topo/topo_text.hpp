#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "text/terminal.hpp"
#include "topo/topo_map.hpp"

namespace tutti::tools {

/// The maps as text for people, in lines of `width` where possible; a wider matrix is split into several parts.
[[nodiscard]] std::string topo_text(std::span<const HostMap> hosts, bool is_predicted, const Terminal& terminal,
                                    std::size_t width);

}  // namespace tutti::tools
