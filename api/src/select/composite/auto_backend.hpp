#pragma once

#include <memory>

#include "tuning/tuning_plan.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// The module of communicators that route each operation by a plan. It is in no registry: only `auto` makes them.
extern const spi::BackendModule kAutoModule;

/// The base of a communicator that create_auto() made, as its module created it; any other communicator, or null,
/// itself.
[[nodiscard]] spi::BackendCommunicator* base_of(spi::BackendCommunicator* communicator) noexcept;

/// Creates the communicator: the base at once, the other leaves when operations first go to them. Collective; all ranks
/// have equal plans. With a parent in the context, the new base is made from the parent's.
[[nodiscard]] std::unique_ptr<spi::BackendCommunicator> create_auto(std::shared_ptr<const TuningPlan> plan,
                                                                    const spi::CreateContext& context);

}  // namespace tutti
