#pragma once

#include <memory>

#include "call/communicator_state.hpp"

namespace tutti {

/// Carries out the operations that a group collected, as if at the same time.
void dispatch_group(const std::shared_ptr<detail::CommunicatorState>& state);

}  // namespace tutti
