#pragma once

#include <memory>

#include "cuda_library.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::cuda_device {

/// The runtime of the module on a library that works here, which must outlive it.
[[nodiscard]] std::unique_ptr<spi::DeviceRuntime> make_runtime(const Library& library, std::uint16_t module);

}  // namespace tutti::cuda_device
