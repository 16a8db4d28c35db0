#pragma once

#include <memory>

#include "cuda_library.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::cuda_device {

/// Makes the runtime of the module. `library` must be usable and outlive the runtime.
[[nodiscard]] std::unique_ptr<spi::DeviceRuntime> make_runtime(const Library& library, std::uint16_t module);

}  // namespace tutti::cuda_device
