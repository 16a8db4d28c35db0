#pragma once

#include <memory>
#include <sycl/sycl.hpp>

#include "tutti/spi/device.hpp"

namespace tutti::sycl_device {

/// Holds back what is submitted to the queue from now on: by an event that the host sets, of OpenCL or of Level Zero.
[[nodiscard]] std::unique_ptr<spi::DeviceGate> hold(::sycl::queue& queue);

/// A gate that occupies a host thread of the runtime; what hold() falls back on where the host can set no event. While
/// it is closed, a thread in queue::wait() keeps all others from submitting anything, so from doing what would open it.
[[nodiscard]] std::unique_ptr<spi::DeviceGate> hold_by_host_task(::sycl::queue& queue);

}  // namespace tutti::sycl_device
