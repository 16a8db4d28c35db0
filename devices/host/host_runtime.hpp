#pragma once

#include "tutti/spi/device.hpp"

namespace tutti::host {

/// The memory and CPU of the process behind the interface of devices, for code that does not care which device it has.
/// There is one stream, the host itself: what is enqueued has happened when the call returns. All memory is host
/// memory, of whatever kind is asked for.
[[nodiscard]] spi::DeviceRuntime& host_runtime();

}  // namespace tutti::host
