#pragma once

#include "tutti/spi/device.hpp"

namespace tutti::host {

/// The host's memory and CPU behind the device interface, for code that works with any device. There is one stream, the
/// host itself: enqueued work has ended when the call returns. All memory is host memory, whichever kind is requested.
[[nodiscard]] spi::DeviceRuntime& host_runtime();

}  // namespace tutti::host
