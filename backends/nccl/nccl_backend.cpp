#include "nccl_backend.hpp"

#include <vector>

#include "nccl_types.hpp"

namespace tutti::nccl {

Communicator::Communicator(const Api& api, int version, Device device, const spi::CreateContext& context)
    : BackendCommunicator(nccl::capabilities(version)),
      device_(device),
      channel_(api, spi::device_runtime(device), device, context),
      executor_(channel_, {"nccl", context.peers.rank, context.peers.size}) {}

Operation Communicator::placed(const Operation& operation) {
  Operation result = operation;
  if (!common::StreamExecutor::is_for(operation)) result.stream = executor_.own_stream(device_);
  return result;
}

std::unique_ptr<spi::PendingOperation> Communicator::do_start_group(std::span<const Operation> operations) {
  std::vector<Operation> all;
  all.reserve(operations.size());
  for (const Operation& operation : operations) all.push_back(placed(operation));
  return executor_.start_group(all);
}

}  // namespace tutti::nccl
