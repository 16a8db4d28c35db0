#include "tutti/spi/backend.hpp"

#include <vector>

namespace tutti::spi {

void BackendCommunicator::do_run_group(std::span<const Operation> operations) {
  std::vector<std::unique_ptr<PendingOperation>> pending;
  pending.reserve(operations.size());
  for (const Operation& operation : operations) pending.push_back(start(operation));
  for (auto& operation : pending) {
    while (operation != nullptr && !operation->wait(Deadline::max())) {
    }
  }
}

}  // namespace tutti::spi
