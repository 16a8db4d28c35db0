#include "meeting.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tutti/error.hpp"

namespace tutti::torch_adapter {
namespace {

constexpr int kSecretLength = 64;

/// The keys of one meeting. A program that destroys its process group and makes another has the same store with the
/// keys of the first: the ranks count their meetings.
class Keys {
 public:
  Keys(c10d::Store& store, int rank)
      : prefix_("tutti/" + std::to_string(store.add("tutti/meetings/" + std::to_string(rank), 1)) + '/') {}

  [[nodiscard]] std::string address() const { return prefix_ + "address"; }
  [[nodiscard]] std::string place(int rank) const { return prefix_ + "place/" + std::to_string(rank); }

 private:
  std::string prefix_;
};

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) throw Error(ErrorCode::system, "the host has no name");
  return name.data();
}

/// Equal for processes that reach each other through an abstract socket: the same boot and network namespace.
std::string place() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code ignored;
  return host_name() + ' ' + boot + ' ' + std::filesystem::read_symlink("/proc/self/ns/net", ignored).string();
}

void put(c10d::Store& store, const std::string& key, const std::string& value) {
  store.set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
}

/// Blocks until another rank has put the key.
std::string get(c10d::Store& store, const std::string& key, int giver, std::chrono::milliseconds timeout) {
  try {
    store.wait({key}, timeout);
    const std::vector<std::uint8_t> value = store.get(key);
    return {value.begin(), value.end()};
  } catch (const std::exception& failure) {
    throw Error(ErrorCode::timeout, "the ranks of the process group could not meet: rank " + std::to_string(giver) +
                                        " has not come; waited " + std::to_string(timeout.count()) +
                                        " ms for it in the store of torch: " + failure.what());
  }
}

/// Serves a store until the process ends, since ranks may need it longer than rank 0 needs its process group.
std::string serve_store(bool spans_hosts, const std::string& secret, int size) {
  static auto& mutex = *new std::mutex;
  static auto& servers = *new std::vector<std::unique_ptr<StoreServer>>;
  auto server = std::make_unique<StoreServer>(
      spans_hosts ? "tcp:0.0.0.0:0" : "unix:tutti-torch-" + make_secret().substr(0, kSecretLength / 2), secret,
      StoreJob{.id = {}, .size = size});
  std::string address = server->address();
  if (spans_hosts) address = "tcp:" + host_name() + address.substr(address.rfind(':'));
  const std::scoped_lock lock(mutex);
  servers.push_back(std::move(server));
  return address;
}

}  // namespace

Rendezvous meet(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout) {
  const Keys keys(store, rank);
  const std::string here = place();
  std::string secret;
  std::string address;
  if (rank == 0) {
    bool spans_hosts = false;
    for (int other = 1; other < size; ++other) {
      if (get(store, keys.place(other), other, timeout) != here) spans_hosts = true;
    }
    secret = make_secret();
    address = serve_store(spans_hosts, secret, size);
    put(store, keys.address(), secret + address);
  } else {
    put(store, keys.place(rank), here);
    const std::string told = get(store, keys.address(), 0, timeout);
    if (told.size() <= kSecretLength)
      throw Error(ErrorCode::system, "the store of torch has lost the address of rank 0");
    secret = told.substr(0, kSecretLength);
    address = told.substr(kSecretLength);
  }
  const JobMember member{.rank = rank, .size = size, .job_id = {}, .server_rank = 0};
  return {rank, size, connect_store(address, secret, timeout, member), {}, timeout};
}

}  // namespace tutti::torch_adapter
