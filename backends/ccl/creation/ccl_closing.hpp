#pragma once

#include <functional>

#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// Before a communicator of oneCCL is destroyed: its destructor waits on the first rank for all others, without a limit
/// and inside oneCCL, where other threads of the process may have to wait for it in turn. So the first rank waits here
/// until all others are about to call their destructors. The others only announce that and do not wait.
/// Returns whether the communicator may be destroyed; false if `has_failed` said so first. Throws as Rendezvous.
[[nodiscard]] bool meet_for_closing(const Rendezvous& rendezvous, const std::function<bool()>& has_failed);

}  // namespace tutti::ccl
