#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "handled_error.hpp"
#include "launch/job_membership.hpp"
#include "launch/launch.hpp"
#include "select/create.hpp"
#include "select/observer_modules.hpp"
#include "select/registry.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/spi/process_exit.hpp"

namespace tutti {

namespace {

/// The job that this process belongs to; determined once, on first use.
struct Job {
  std::mutex mutex;
  std::optional<Launch> launch;
  std::shared_ptr<JobMembership> membership;  ///< null once the process exits
  int worlds = 0;                             ///< number of communicators created from it so far
};

Job& job() {
  // Never destroyed: a static communicator may outlive other statics.
  static auto* instance = new Job;
  return *instance;
}

/// Leaves the job when the process exits. Communicators that still exist keep the rank in the job: if they are static
/// objects, it leaves when they are destroyed; if they never are, the other ranks learn that this one is lost.
void leave_job_at_exit() {
  Job& the_job = job();
  std::shared_ptr<JobMembership> membership;
  // A thread that is creating a communicator has one.
  const std::unique_lock lock(the_job.mutex, std::try_to_lock);
  if (lock) membership = std::move(the_job.membership);
}

std::chrono::nanoseconds rendezvous_timeout(const Config& config) {
  return config.duration("TUTTI_RENDEZVOUS_TIMEOUT").value_or(std::chrono::hours(24 * 365));
}

/// Sets up the store of a job whose ranks can only broadcast: rank 0 hosts the store and broadcasts its address and the
/// secret over this trusted channel.
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
      // Listens on all interfaces, because the host's own name may resolve to a loopback address on this host.
      launch.server = std::make_shared<StoreServer>(
          bootstrap.same_host() ? "unix:tutti-" + make_secret().substr(0, 32) : "tcp:0.0.0.0:0", secret,
          StoreJob{.size = launch.size, .is_served_by_rank = true});
      std::string address = launch.server->address();
      if (address.starts_with("tcp:")) address = "tcp:" + std::string(host.data()) + address.substr(address.rfind(':'));
      offer = secret + " " + address;
    } catch (...) {
      failure = std::current_exception();  // the other ranks wait for the broadcast; an empty value tells them
    }
  }
  offer = bootstrap.broadcast(offer);
  if (failure != nullptr) std::rethrow_exception(failure);
  const std::size_t space = offer.find(' ');
  if (space == std::string::npos)
    throw Error(ErrorCode::system, "rank 0 could not set up the job's store; see the error of rank 0");
  // The secret is new, so it serves as the id of the job.
  launch.store = connect_store(offer.substr(space + 1), offer.substr(0, space), rendezvous_timeout(config),
                               {.rank = launch.rank, .size = launch.size, .server_rank = 0});
  return launch;
}

/// Determines how this process was started. `tutti run` or a complete set of RANK, ... takes precedence over a
/// backend's launcher. An incomplete set does not: it may be left over in the shell that called the launcher.
Launch find_launch(const Config& config) {
  if (spi::ignores_environment()) {
    throw Error(ErrorCode::config,
                "world(): this program is set-user-ID, set-group-ID or has file capabilities, so tutti reads no "
                "environment variables and cannot find the ranks of its job; run it without these privileges, or "
                "make the communicator of a Rendezvous");
  }
  const auto is_set = [](const char* name) { return spi::environment(name).has_value(); };
  const bool whole = is_set("RANK") && is_set("WORLD_SIZE") && is_set("MASTER_ADDR") && is_set("MASTER_PORT");
  if (whole || !config.text("TUTTI_STORE").empty()) return launch_from_environment(config).value_or(Launch{});
  // A module that cannot use its launcher does not end the search: the variables of a resource manager may suffice.
  std::string refusals;
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    if (entry->module == nullptr || entry->module->launched == nullptr) continue;
    std::unique_ptr<spi::Bootstrap> bootstrap;
    try {
      bootstrap = entry->module->launched(config);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::backend_unavailable) throw;
      refusals += (refusals.empty() ? "" : "; ") + std::string(error.what());
    }
    if (!bootstrap) continue;
    Launch launch = launch_over(*bootstrap, config);
    launch.source = "the launcher of " + entry->name;
    return launch;
  }
  // Throws for an incomplete set; without any variable this is a job of one rank.
  return launch_from_environment(config, refusals).value_or(Launch{});
}

/// Determines the job; called once.
void join_job(Job& the_job, const Config& config) {
  Launch launch = find_launch(config);
  the_job.membership = std::make_shared<JobMembership>(std::move(launch.server), launch.store);
  the_job.launch = std::move(launch);
  (void)std::atexit(leave_job_at_exit);
}

std::shared_ptr<detail::CommunicatorState> create_world(const CommunicatorOptions& options) {
  // A value that does not parse must not keep this rank from the others, which it tells of it: see
  // create_communicator().
  const Config config = options.config.without_invalid();
  start_observer_modules(config);  // before a launcher's library is opened
  Job& the_job = job();
  Launch launch;
  std::shared_ptr<JobMembership> membership;
  std::string scope;
  {
    const std::scoped_lock lock(the_job.mutex);
    if (!the_job.launch) join_job(the_job, config);
    if (the_job.membership == nullptr) {
      throw Error(ErrorCode::invalid_usage, "world() was called while the process exits, after it has left its job");
    }
    launch = *the_job.launch;
    membership = the_job.membership;
    scope = "world" + std::to_string(the_job.worlds++);
  }
  if (launch.size == 1) return create_communicator(local_rendezvous(1).front(), options);
  const Rendezvous rendezvous(launch.rank, launch.size, launch.store, scope, rendezvous_timeout(config));
  auto state = create_communicator(rendezvous, options);
  state->membership = std::move(membership);
  return state;
}

/// Rethrows the first failure that is no consequence of another rank's.
void rethrow_cause(const std::vector<std::exception_ptr>& failures) {
  std::exception_ptr consequence;
  for (const std::exception_ptr& failure : failures) {
    if (failure == nullptr) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::peer_failure) throw;
      if (consequence == nullptr) consequence = failure;
    }
  }
  if (consequence != nullptr) std::rethrow_exception(consequence);
}

std::vector<Communicator> create_local_group(int size, const CommunicatorOptions& options) {
  if (size < 1)
    throw Error(ErrorCode::invalid_argument,
                "local_group(): size is " + std::to_string(size) + "; accepted: 1 or more");
  const std::vector<Rendezvous> meetings = local_rendezvous(size);
  std::vector<Communicator> group(static_cast<std::size_t>(size));
  std::vector<std::exception_ptr> failures(group.size());
  {
    // Creating a communicator is collective, so every rank needs a thread meanwhile.
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
  rethrow_cause(failures);
  return group;
}

std::shared_ptr<detail::CommunicatorState> create_adopted(const spi::ForeignHandle& handle,
                                                          const CommunicatorOptions& options) {
  const Config config = options.config.without_invalid();
  start_observer_modules(config);
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    if (entry->name != handle.backend || entry->variant != handle.variant) continue;
    if (entry->module == nullptr) {
      throw Error(ErrorCode::backend_unavailable, entry->location + " " + entry->rejected, entry->name);
    }
    if (entry->module->adopt == nullptr) break;
    const auto bootstrap = entry->module->adopt(handle);
    const Launch launch = launch_over(*bootstrap, config);
    Rendezvous rendezvous(launch.rank, launch.size, launch.store, "adopted", rendezvous_timeout(config));
    auto membership = std::make_shared<JobMembership>(launch.server, launch.store);
    auto state = create_communicator(rendezvous, options, &handle);
    state->membership = std::move(membership);
    return state;
  }
  throw Error(ErrorCode::backend_unavailable, "no module of backend '" + std::string(handle.backend) + "', variant '" +
                                                  std::string(handle.variant) +
                                                  "', can adopt the communicator; `tutti info` lists the modules");
}

}  // namespace

void spi::leave_job() noexcept { leave_job_at_exit(); }

Communicator world(const CommunicatorOptions& options) {
  return throwing_errors_only("world()", [&] { return Communicator(create_world(options)); });
}

std::vector<Communicator> local_group(int size, const CommunicatorOptions& options) {
  return throwing_errors_only("local_group()", [&] { return create_local_group(size, options); });
}

Communicator adopt(const spi::ForeignHandle& handle, const CommunicatorOptions& options) {
  return throwing_errors_only("adoption of a communicator",
                              [&] { return Communicator(create_adopted(handle, options)); });
}

}  // namespace tutti
