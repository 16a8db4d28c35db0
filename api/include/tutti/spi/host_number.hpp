#pragma once

#include <cstdint>

#include "tutti/export.hpp"

namespace tutti::spi {

/// Equal for processes that can reach each other over a local socket: the boot of the kernel, the host name and the
/// network namespace.
[[nodiscard]] TUTTI_API std::uint64_t host_number();

}  // namespace tutti::spi
