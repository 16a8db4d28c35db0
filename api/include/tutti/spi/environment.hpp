#pragma once

#include <optional>
#include <string>

#include "tutti/export.hpp"

namespace tutti::spi {

/// Whether tutti reads no environment variables, because this process has privileges that its caller may not have:
/// set-user-ID, set-group-ID or file capabilities. The caller could otherwise make it load a library.
[[nodiscard]] TUTTI_API bool ignores_environment() noexcept;

/// Current value of an environment variable of a launcher or vendor (RANK, ...); std::nullopt if it is not set or
/// ignores_environment(). tutti's own variables are settings: see Config.
[[nodiscard]] TUTTI_API std::optional<std::string> environment(const std::string& name);

}  // namespace tutti::spi
