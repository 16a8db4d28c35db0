#pragma once

#include <span>

#include "tutti/spi/module.hpp"

namespace tutti {

/// Backends that are linked into the library; the list is made by CMake.
[[nodiscard]] std::span<const spi::BackendModuleEntry> builtin_backends() noexcept;

}  // namespace tutti
