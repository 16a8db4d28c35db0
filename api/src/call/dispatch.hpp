#pragma once

#include <memory>

#include "call/communicator_state.hpp"
#include "tutti/work.hpp"

namespace tutti {

/// Validated operation in, Work out: the one way to a backend. Collects while a group is open, numbers, checks
/// agreement of the ranks when asked to, emulates what the backend lacks and reports to the observer.
[[nodiscard]] Work dispatch(const std::shared_ptr<detail::CommunicatorState>& state, Operation& operation, bool async);

}  // namespace tutti
