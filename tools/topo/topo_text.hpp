#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "text/terminal.hpp"
#include "topo/topo_map.hpp"

namespace tutti::tools {

/// The maps for people, in lines of `width` where that is possible: a matrix that is wider comes in several parts.
[[nodiscard]] std::string topo_text(std::span<const HostMap> hosts, bool is_predicted, const Terminal& terminal,
                                    std::size_t width);

}  // namespace tutti::tools
