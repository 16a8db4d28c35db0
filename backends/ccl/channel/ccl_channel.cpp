#include "channel/ccl_channel.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "common/identifier.hpp"
#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

/// Throws unless all members use the same interface of oneCCL: otherwise they would not find each other and wait for
/// ever.
void require_same(const Rendezvous& rendezvous, const std::vector<std::string>& interfaces) {
  const auto other = std::ranges::find_if(interfaces, [&](const auto& one) { return one != interfaces.front(); });
  if (other == interfaces.end()) return;
  rendezvous.barrier("ccl.ready");  // the rank that serves the store stays until all have read
  throw Error(ErrorCode::invalid_usage,
              "TUTTI_CCL_API must be the same on all ranks: rank 0 uses oneCCL's " + interfaces.front() +
                  " interface, rank " + std::to_string(other - interfaces.begin()) + " its " + *other + " interface",
              "ccl");
}

}  // namespace

std::string where(const Operation& operation, int rank, int size) {
  return describe(operation) + " on rank " + std::to_string(rank) + " of " + std::to_string(size) + " (ccl)";
}

bool Channel::is_empty(const Operation& operation) noexcept {
  // Counts of these operations are equal on all ranks, so all of them skip the call.
  return operation.count == 0 && !is_vector(operation.kind) && operation.kind != OpKind::barrier;
}

void Channel::meet(CreationLock& creation_lock, const Rendezvous& rendezvous, const Handshake& handshake) {
  // The lock is taken only when all members are here: while it is held, no other communicator can be created.
  require_same(rendezvous, rendezvous.allgather("ccl.ready", handshake.interface));
  std::optional<CreationLock::Guard> guard;
  if (rank_ == 0 && size_ > 1) guard.emplace(creation_lock);
  handshake.join(common::share_identifier(rendezvous, "ccl.address", handshake.identify));
}

}  // namespace tutti::ccl
