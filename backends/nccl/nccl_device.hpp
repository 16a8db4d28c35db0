#pragma once

#include "tutti/device.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/module.hpp"

/// Assignment of GPUs to ranks.
namespace tutti::nccl {

/// This rank's GPU, by the rules of tutti/placement.hpp. Throws Error.
[[nodiscard]] Device rank_device(const spi::CreateContext& context);

/// Throws Error{invalid_usage} on all members when two of them use one GPU, which NCCL does not support. Collective.
void require_own_devices(const spi::CreateContext& context, Device device);

}  // namespace tutti::nccl
