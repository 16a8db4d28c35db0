#pragma once

#include <optional>
#include <string>

#include "tutti/export.hpp"

namespace tutti::spi {

/// Current value of an environment variable of a launcher or vendor (RANK, ...); std::nullopt if it is not set. tutti's
/// own variables are settings: see Config.
[[nodiscard]] TUTTI_API std::optional<std::string> environment(const std::string& name);

}  // namespace tutti::spi
