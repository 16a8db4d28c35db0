#include "nccl_device.hpp"

#include <map>
#include <string>

#include "tutti/error.hpp"
#include "tutti/placement.hpp"

namespace tutti::nccl {
namespace {

/// A name of the GPU that is unique in the job, also when processes number their GPUs differently.
std::string identity_of(const spi::CreateContext& context, Device device) {
  const auto self = static_cast<std::size_t>(context.peers.rank);
  std::string address;
  for (const DeviceInfo& info : spi::device_runtime(device).devices()) {
    if (info.device == device) address = info.address;
  }
  return context.peers.hosts[self] + " " + (address.empty() ? device.name() : address);
}

}  // namespace

Device rank_device(const spi::CreateContext& context) {
  return placement(local_ranks(context.peers), "cuda", context.config).device;
}

void require_own_devices(const spi::CreateContext& context, Device device) {
  const auto answers = context.rendezvous.allgather("nccl.device", device.name() + "\n" + identity_of(context, device));
  std::map<std::string, std::size_t> owners;
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    const std::size_t line = answers[rank].find('\n');
    const auto [owner, is_new] = owners.try_emplace(answers[rank].substr(line + 1), rank);
    if (is_new) continue;
    context.rendezvous.barrier("nccl.device");  // rank 0 may serve the store: it stays until all have read
    throw Error(
        ErrorCode::invalid_usage,
        "ranks " + std::to_string(owner->second) + " and " + std::to_string(rank) + " are both on " +
            answers[rank].substr(0, line) + " of " + owner->first.substr(0, owner->first.find('/')) +
            "; NCCL needs a different GPU for each rank: start fewer ranks, or assign GPUs with TUTTI_DEVICE or "
            "CUDA_VISIBLE_DEVICES",
        "nccl");
  }
}

}  // namespace tutti::nccl
