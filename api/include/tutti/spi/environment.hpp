#pragma once

#include <optional>
#include <string>

#include "tutti/export.hpp"

namespace tutti::spi {

/// A variable that belongs to others (RANK, those of launchers and vendors), as it is now; nothing when it is not set.
/// tutti's own variables are settings: see Config.
[[nodiscard]] TUTTI_API std::optional<std::string> environment(const std::string& name);

}  // namespace tutti::spi
