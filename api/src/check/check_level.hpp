#pragma once

#include <cstdint>
#include <string_view>

#include "tutti/config.hpp"

namespace tutti {

/// How the calls of the ranks are compared, beside the backend's own comparison; TUTTI_CHECK.
enum class CheckLevel : std::uint8_t {
  off,
  boards,    ///< ranks of one host look at each other's progress boards, see CallComparison
  exchange,  ///< all ranks exchange their calls before each collective, see check_agreement()
};

[[nodiscard]] CheckLevel check_level(const Config& config);

}  // namespace tutti
