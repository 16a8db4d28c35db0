#pragma once

#include <memory>

#include "level_zero_api.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::level_zero_device {

/// Makes the runtime of the module. Throws Error{backend_unavailable} when the drivers show no device.
[[nodiscard]] std::unique_ptr<spi::DeviceRuntime> make_runtime(Api api, std::uint16_t module);

}  // namespace tutti::level_zero_device
