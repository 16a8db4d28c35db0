#include "unique_id.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_error.hpp"

namespace tutti::nccl_adapter {
namespace {

constexpr std::string_view kMagic = "tuttiID1";
constexpr std::size_t kSecretLength = 32;
constexpr std::size_t kAddressBegin = kMagic.size() + kSecretLength;
constexpr auto kMeetingTimeout = std::chrono::minutes(5);

/// Variables of launchers: ranks of the job and those of them on this host.
struct Sizes {
  const char* all;
  const char* on_host;
};
constexpr std::array kSizes = {Sizes{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                               Sizes{"PMI_SIZE", "MPI_LOCALNRANKS"}, Sizes{"WORLD_SIZE", "LOCAL_WORLD_SIZE"},
                               Sizes{"PALS_SIZE", "PALS_LOCAL_SIZE"}, Sizes{"SLURM_NTASKS", "SLURM_TASKS_PER_NODE"}};

/// Whether a launcher started ranks on other hosts, or on hosts that it does not tell.
bool may_span_hosts() {
  for (const Sizes& sizes : kSizes) {
    const char* const all = std::getenv(sizes.all);
    if (all == nullptr) continue;
    const char* const on_host = std::getenv(sizes.on_host);
    return on_host == nullptr || std::string_view(all) != on_host;
  }
  return false;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) throw Error(ErrorCode::system, "the host has no name");
  return name.data();
}

/// The stores that this process serves.
class Servers {
 public:
  std::string add(const std::string& secret) {
    const bool spans_hosts = may_span_hosts();
    auto server = std::make_unique<StoreServer>(
        spans_hosts ? "tcp:0.0.0.0:0" : "unix:tutti-nccl-" + make_secret().substr(0, 32), secret);
    std::string address = server->address();
    if (spans_hosts) address = "tcp:" + host_name() + address.substr(address.rfind(':'));
    const std::scoped_lock lock(mutex_);
    servers_.push_back(std::move(server));
    return address;
  }

  /// Never destroyed: ranks may use the stores until the process ends.
  static Servers& instance() {
    static auto& servers = *new Servers;
    return servers;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<StoreServer>> servers_;
};

}  // namespace

ncclUniqueId make_unique_id() {
  const std::string secret = make_secret().substr(0, kSecretLength);
  const std::string address = Servers::instance().add(secret);
  ncclUniqueId id{};
  if (kAddressBegin + address.size() >= sizeof(id.internal))
    throw Error(ErrorCode::system, "the name of the host is too long for an id of NCCL: " + address);
  std::memcpy(id.internal, kMagic.data(), kMagic.size());
  std::memcpy(id.internal + kMagic.size(), secret.data(), secret.size());
  std::memcpy(id.internal + kAddressBegin, address.data(), address.size());
  return id;
}

Rendezvous meet(const ncclUniqueId& id, int rank, int size) {
  const std::string_view bytes(id.internal, sizeof(id.internal));
  const std::size_t end = bytes.find('\0', kAddressBegin);
  if (!bytes.starts_with(kMagic) || end == std::string_view::npos) {
    refuse_argument(
        "the unique id was not made by ncclGetUniqueId() of tutti; all ranks must use the same libnccl.so.2");
  }
  const std::string secret(bytes.substr(kMagic.size(), kSecretLength));
  const std::string address(bytes.substr(kAddressBegin, end - kAddressBegin));
  return {rank, size, connect_store(address, secret, kMeetingTimeout, {.rank = rank, .size = size})};
}

}  // namespace tutti::nccl_adapter
