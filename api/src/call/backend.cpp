#include "tutti/spi/backend.hpp"

#include <vector>

#include "call/rank_names.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti::spi {

bool PendingGroup::do_poll() {
  for (; complete_ < operations_.size(); ++complete_) {
    if (!operations_[complete_]->poll()) return false;
  }
  return true;
}

bool PendingGroup::do_wait(Deadline until) {
  for (; complete_ < operations_.size(); ++complete_) {
    if (!operations_[complete_]->wait(until)) return false;
  }
  return true;
}

void BackendCommunicator::rethrow(const Error& error) const {
  if (ranks_.empty()) throw;
  throw with_ranks(error, ranks_);
}

void BackendCommunicator::run_group(std::span<const Operation> operations) {
  if (operations.empty()) return;
  const std::unique_ptr<PendingOperation> pending = start_group(operations);
  while (!pending->wait(Deadline::max())) {
  }
}

std::unique_ptr<PendingOperation> BackendCommunicator::do_start_group(std::span<const Operation> operations) {
  try {
    std::vector<std::unique_ptr<PendingOperation>> pending;
    pending.reserve(operations.size());
    for (const Operation& operation : operations) pending.push_back(start(operation));
    return std::make_unique<PendingGroup>(std::move(pending));
  } catch (const Error&) {
    throw;
  } catch (...) {
    // Out of memory: the other ranks must not wait for operations that this one does not carry out.
    abort();
    throw;
  }
}

}  // namespace tutti::spi
