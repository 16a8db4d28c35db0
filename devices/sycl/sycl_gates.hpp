#pragma once

#include <memory>
#include <sycl/sycl.hpp>

#include "tutti/spi/device.hpp"

namespace tutti::sycl_device {

/// Holds back commands submitted to the queue from now on, by an event of OpenCL or Level Zero that the host sets, or
/// by a host task where there is no such event.
[[nodiscard]] std::unique_ptr<spi::DeviceGate> hold(::sycl::queue& queue);

/// A gate that occupies a host thread of the runtime; the fallback of hold(). While it is closed, a thread in
/// queue::wait() keeps all other threads from submitting commands, also those whose work would open the gate.
[[nodiscard]] std::unique_ptr<spi::DeviceGate> hold_by_host_task(::sycl::queue& queue);

}  // namespace tutti::sycl_device
