#include "channel/ccl_channel.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "common/identifier.hpp"
#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

/// What one interface makes the other does not find, and would wait for.
void require_same(const Rendezvous& rendezvous, const std::vector<std::string>& interfaces) {
  const auto other = std::ranges::find_if(interfaces, [&](const auto& one) { return one != interfaces.front(); });
  if (other == interfaces.end()) return;
  rendezvous.barrier("ccl.ready");  // whoever serves the store stays until all have read it
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
  // Counts are equal on all ranks then, so all of them leave.
  const bool is_vector = operation.traits().input == Extent::vector || operation.traits().output == Extent::vector;
  return operation.count == 0 && !is_vector && operation.kind != OpKind::barrier;
}

void Channel::meet(CreationLock& creation, const Rendezvous& rendezvous, const Handshake& handshake) {
  // Only when all are there: nobody else can have a turn before this one is over.
  require_same(rendezvous, rendezvous.allgather("ccl.ready", handshake.interface));
  std::optional<CreationLock::Guard> guard;
  if (rank_ == 0 && size_ > 1) guard.emplace(creation);
  handshake.join(common::share_identifier(rendezvous, "ccl.address", handshake.identify));
}

}  // namespace tutti::ccl
