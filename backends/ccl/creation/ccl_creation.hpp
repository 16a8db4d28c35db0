#pragma once

#include <memory>

#include "ccl_runtime.hpp"
#include "channel/ccl_channel.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// Creates the channel of all members of the rendezvous. oneCCL waits for them without a limit; this function does not:
/// it throws Error{peer_failure} that names the rank when a member is lost or fails meanwhile, and Error{timeout} after
/// the timeout of the rendezvous. oneCCL can then no longer be used in this process, since a thread stays inside.
[[nodiscard]] std::shared_ptr<Channel> make_watched_channel(Runtime& runtime, const Rendezvous& rendezvous);

}  // namespace tutti::ccl
