#pragma once

#include <cstdint>

#include "tutti/export.hpp"
#include "tutti/spi/device.hpp"

/// The only symbol of the runtime part, which is linked with libsycl. The caller owns the result. Throws
/// Error{backend_unavailable} with the reason when the runtime does not start or has no device to use.
extern "C" TUTTI_API tutti::spi::DeviceRuntime* tutti_sycl_open(std::uint16_t module, std::uint64_t cpu_parts);
