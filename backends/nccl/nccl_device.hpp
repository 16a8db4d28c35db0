#pragma once

#include "tutti/device.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/module.hpp"

/// Which GPU a rank is on.
namespace tutti::nccl {

/// This rank's GPU, as tutti/placement.hpp says. Throws Error.
[[nodiscard]] Device rank_device(const spi::CreateContext& context);

/// Throws Error{invalid_usage} on all members when two of them are on one GPU, which NCCL does not serve. Collective.
void require_own_devices(const spi::CreateContext& context, Device device);

}  // namespace tutti::nccl
