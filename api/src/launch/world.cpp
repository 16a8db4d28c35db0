#include <unistd.h>

#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "launch/launch.hpp"
#include "select/create.hpp"
#include "select/registry.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

namespace {

/// The job this process belongs to; found once, on first use.
struct Job {
  std::mutex mutex;
  std::optional<Launch> launch;
  int worlds = 0;  ///< communicators made from it so far
};

Job& job() {
  // Never destroyed: a static communicator may outlive other statics.
  static auto* instance = new Job;
  return *instance;
}

std::chrono::nanoseconds rendezvous_timeout(const Config& config) {
  return config.duration("TUTTI_RENDEZVOUS_TIMEOUT").value_or(std::chrono::hours(24 * 365));
}

/// The store of a job whose ranks can only broadcast to each other: rank 0 serves it and tells the others where and,
/// over the same trusted way, the secret.
Launch launch_over(spi::Bootstrap& bootstrap, const Config& config) {
  Launch launch;
  launch.rank = bootstrap.rank();
  launch.size = bootstrap.size();
  std::string offer;
  std::exception_ptr failure;
  if (launch.rank == 0) {
    try {
      const std::string secret = make_secret();
      std::array<char, 256> host{};
      gethostname(host.data(), host.size() - 1);
      // Bound to every interface, for the host's own name may stand for a loopback address on this host.
      launch.server = std::make_shared<StoreServer>(
          bootstrap.same_host() ? "unix:tutti-" + make_secret().substr(0, 32) : "tcp:0.0.0.0:0", secret);
      std::string address = launch.server->address();
      if (address.starts_with("tcp:")) address = "tcp:" + std::string(host.data()) + address.substr(address.rfind(':'));
      offer = secret + " " + address;
    } catch (...) {
      failure = std::current_exception();  // the others wait for the broadcast: an empty one tells them
    }
  }
  offer = bootstrap.broadcast(offer);
  if (failure != nullptr) std::rethrow_exception(failure);
  const std::size_t space = offer.find(' ');
  if (space == std::string::npos) throw Error(ErrorCode::system, "rank 0 could not set up the job's store");
  launch.store = connect_store(offer.substr(space + 1), offer.substr(0, space), rendezvous_timeout(config));
  return launch;
}

/// Who started us. Some of the variables of RANK and friends may be left over in a shell that then calls a backend's
/// own launcher, so only a whole set of them, or `tutti run`, comes before that.
Launch find_launch(const Config& config) {
  const auto is_set = [](const char* name) { return spi::environment(name).has_value(); };
  const bool whole = is_set("RANK") && is_set("WORLD_SIZE") && is_set("MASTER_ADDR") && is_set("MASTER_PORT");
  if (whole || !config.text("TUTTI_STORE").empty()) return launch_from_environment(config).value_or(Launch{});
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    if (entry->module == nullptr || entry->module->launched == nullptr) continue;
    if (auto bootstrap = entry->module->launched(config)) {
      Launch launch = launch_over(*bootstrap, config);
      launch.source = "the launcher of " + entry->name;
      return launch;
    }
  }
  return launch_from_environment(config).value_or(Launch{});  // half of a set is an error; nothing: alone
}

}  // namespace

Communicator world(const CommunicatorOptions& options) {
  Job& the_job = job();
  Launch launch;
  std::string scope;
  {
    const std::scoped_lock lock(the_job.mutex);
    if (!the_job.launch) the_job.launch = find_launch(options.config);
    launch = *the_job.launch;
    scope = "world" + std::to_string(the_job.worlds++);
  }
  if (launch.size == 1) return Communicator(local_rendezvous(1).front(), options);
  const Rendezvous rendezvous(launch.rank, launch.size, launch.store, scope, rendezvous_timeout(options.config));
  return Communicator(rendezvous, options);
}

std::vector<Communicator> local_group(int size, const CommunicatorOptions& options) {
  if (size < 1)
    throw Error(ErrorCode::invalid_argument, "a local group needs at least one rank, not " + std::to_string(size));
  const std::vector<Rendezvous> meetings = local_rendezvous(size);
  std::vector<Communicator> group(static_cast<std::size_t>(size));
  std::vector<std::exception_ptr> failures(group.size());
  {
    // Making a communicator is collective, so every rank needs a thread while it is made.
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          group[rank] = Communicator(meetings[rank], options);
        } catch (...) {
          failures[rank] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
  return group;
}

Communicator adopt(const spi::ForeignHandle& handle, const CommunicatorOptions& options) {
  for (const RegisteredModule* entry : Registry::instance().modules(options.config)) {
    if (entry->name != handle.backend || entry->variant != handle.variant) continue;
    if (entry->module == nullptr) {
      throw Error(ErrorCode::backend_unavailable, entry->location + " " + entry->rejected, entry->name);
    }
    if (entry->module->adopt == nullptr) break;
    const auto bootstrap = entry->module->adopt(handle);
    Launch launch = launch_over(*bootstrap, options.config);
    Rendezvous rendezvous(launch.rank, launch.size, launch.store, "adopted", rendezvous_timeout(options.config));
    auto state = create_communicator(rendezvous, options, &handle);
    state->store_server = launch.server;
    return Communicator(std::move(state));
  }
  throw Error(ErrorCode::backend_unavailable, "there is no backend " + std::string(handle.backend) + " of variant " +
                                                  std::string(handle.variant) + " that takes communicators");
}

}  // namespace tutti
