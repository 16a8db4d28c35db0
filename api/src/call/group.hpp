#pragma once

#include <memory>

#include "call/communicator_state.hpp"

namespace tutti {

/// Whether this thread has a group open.
[[nodiscard]] bool is_grouping() noexcept;

/// Adds a validated operation to the open group of this thread.
void collect(const std::shared_ptr<detail::CommunicatorState>& communicator, const Operation& operation);

}  // namespace tutti
