#include "launch/launch.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>

#include "launch/launchers.hpp"
#include "settings/settings.hpp"
#include "store/local_store.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti {
namespace {

constexpr std::size_t kMaxSecretFileBytes = 4096;

constexpr const char* kMakeSecret =
    "run `export TUTTI_JOB_SECRET=$(openssl rand -hex 32)` before the launcher, which passes it on to all ranks, or "
    "set "
    "TUTTI_JOB_SECRET_FILE to a file that holds a secret on every host";
constexpr const char* kOneRankEach = "if each task is a job of its own, set RANK=0 and WORLD_SIZE=1";

[[noreturn]] void throw_config(const std::string& message) { throw Error(ErrorCode::config, message); }

/// A variable of the launcher; an empty one counts as not set.
std::optional<std::string> variable(const std::string& name) {
  std::optional<std::string> value = spi::environment(name);
  return value && value->empty() ? std::nullopt : value;
}

std::optional<int> number(const char* name, std::uint64_t least, std::uint64_t most) {
  const std::optional<std::string> text = variable(name);
  if (!text) return std::nullopt;
  const std::optional<std::uint64_t> value = parse_integer(*text);
  if (!value || *value < least || *value > most) {
    throw_config(std::string(name) + "=" + printable(*text) + " is not accepted; accepted: a whole number from " +
                 std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int>(*value);
}

/// Whether all variables are set. Throws if only some are: each rank would otherwise run as a job of its own. `there`
/// names another variable that is set and requires them.
bool all_set(std::span<const char* const> names, std::string there) {
  std::string missing;
  for (const char* name : names) {
    std::string& list = variable(name) ? there : missing;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  if (!missing.empty() && !there.empty()) {
    throw_config("the environment has " + there + ", but not " + missing + "; set all of them or none");
  }
  return missing.empty();
}

std::string job_secret(const Config& config) {
  if (const std::string& secret = config.text("TUTTI_JOB_SECRET"); !secret.empty()) return secret;
  const std::string& path = config.text("TUTTI_JOB_SECRET_FILE");
  if (path.empty()) return {};
  const std::string where = "TUTTI_JOB_SECRET_FILE=" + printable(path);
  std::ifstream file(path, std::ios::binary);
  std::string secret(kMaxSecretFileBytes + 1, '\0');
  if (file) file.read(secret.data(), static_cast<std::streamsize>(secret.size()));
  if (!file.is_open() || file.bad()) throw_config(where + " cannot be read; it must be a file with the job's secret");
  secret.resize(static_cast<std::size_t>(file.gcount()));
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  if (secret.empty() || secret.size() > kMaxSecretFileBytes) {
    throw_config(where + " holds no secret of 1 to " + std::to_string(kMaxSecretFileBytes) + " bytes");
  }
  return secret;
}

/// Tells jobs apart that use the same MASTER_PORT and secret one after the other. TORCHELASTIC_RUN_ID is the same on
/// all ranks by definition; the variables of batch systems are not, for example in a job of several components.
std::string job_id(const Config& config) {
  if (const std::string& id = config.text("TUTTI_JOB_ID"); !id.empty()) return id;
  return variable("TORCHELASTIC_RUN_ID").value_or("");
}

/// Decides by the spelling, not by name resolution, which may differ between hosts: all ranks must get the same result.
bool is_loopback(const std::string& host) {
  const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || host == "[::1]" || (is_ipv4 && host.starts_with("127."));
}

/// The store that rank 0 hosts; every rank derives it on its own.
struct Meeting {
  std::string listen;   ///< address for rank 0
  std::string connect;  ///< address for the other ranks
  std::string name;     ///< for messages: the variables that the address comes from
};

std::string unix_address(const std::string& name) { return "unix:tutti-" + std::to_string(::geteuid()) + "-" + name; }

Meeting meeting_at(const std::string& host, int port, bool has_secret) {
  std::string address;
  if (has_secret) {
    const bool bracket = host.find(':') != std::string::npos && !host.starts_with('[');
    address = "tcp:" + (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
  } else if (is_loopback(host)) {
    address = unix_address(std::to_string(port));
  } else {
    throw_config("MASTER_ADDR=" + printable(host) +
                 " is not a loopback address, so the ranks need a secret to authenticate each other: " + kMakeSecret);
  }
  return {address, address, "MASTER_PORT=" + std::to_string(port)};
}

/// Without MASTER_ADDR: on one host a socket that the kernel restricts to this user, else a port on the step's first
/// host.
Meeting meeting_of(const SlurmStep& step, std::optional<int> port, bool has_secret) {
  const std::string number = std::to_string(step.job) + "." + std::to_string(step.step);
  const std::string source =
      "SLURM_JOB_ID=" + std::to_string(step.job) + " and SLURM_STEP_ID=" + std::to_string(step.step);
  if (step.on_one_host) {
    const std::string address = unix_address(port ? std::to_string(*port) : "slurm-" + number);
    return {address, address, port ? "MASTER_PORT=" + std::to_string(*port) : "the socket for " + source};
  }
  const std::string where =
      "Slurm step " + number + " runs on several hosts (SLURM_STEP_NODELIST=" + printable(step.hosts) + ")";
  if (!has_secret) {
    throw_config(where + ", so the ranks need a secret to authenticate each other: " + kMakeSecret + "; " +
                 kOneRankEach);
  }
  if (step.first_host.empty()) {
    throw_config(where +
                 ", but the name of the first one cannot be read from that list; set MASTER_ADDR to the host "
                 "of task 0 and MASTER_PORT to a free port of it, the same on all ranks");
  }
  const std::string tail = ":" + std::to_string(port.value_or(port_of(step)));
  // Listens on all interfaces, because the host's own name may resolve to a loopback address on this host.
  return {"tcp:0.0.0.0" + tail, "tcp:" + step.first_host + tail,
          port ? "MASTER_PORT=" + std::to_string(*port) : "port " + tail.substr(1) + ", derived from " + source + ","};
}

std::shared_ptr<StoreServer> host_store(const Meeting& meeting, const std::string& secret, const StoreJob& job) {
  try {
    return std::make_shared<StoreServer>(meeting.listen, secret, job);
  } catch (const Error& error) {
    if (error.vendor_code() != EADDRINUSE) throw;
    throw_config(
        meeting.name + " is taken (" + error.what() +
        "), possibly by the launcher's own store or another job; set another MASTER_PORT, the same on all ranks");
  }
}

void meet(Launch& launch, const Meeting& meeting, const std::string& secret, const std::string& id,
          std::chrono::nanoseconds timeout) {
  std::string address = meeting.connect;
  if (launch.rank == 0) {
    launch.server = host_store(meeting, secret, {.id = id, .size = launch.size, .is_served_by_rank = true});
    if (meeting.listen.starts_with("tcp:0.0.0.0:")) address = "tcp:127.0.0.1" + address.substr(address.rfind(':'));
  }
  launch.store = connect_store(address, secret, timeout,
                               {.rank = launch.rank, .size = launch.size, .job_id = id, .server_rank = 0});
}

Launch ranks_from_environment() {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  Launch launch;
  launch.size = number("WORLD_SIZE", 1, kMost).value();
  launch.rank = number("RANK", 0, static_cast<std::uint64_t>(launch.size) - 1).value();
  launch.local_size = number("LOCAL_WORLD_SIZE", 1, static_cast<std::uint64_t>(launch.size)).value_or(-1);
  const int local_most = (launch.local_size > 0 ? launch.local_size : launch.size) - 1;
  launch.local_rank = number("LOCAL_RANK", 0, static_cast<std::uint64_t>(local_most)).value_or(-1);
  return launch;
}

/// Whether RANK and WORLD_SIZE alone say that this process is a job of one rank.
bool is_alone() {
  const std::optional<std::string> size = variable("WORLD_SIZE");
  return size && parse_integer(*size) == 1 && variable("RANK");
}

[[noreturn]] void refuse_tasks(const StartedTasks& tasks, const std::string& refusals) {
  const std::string size = tasks.size_variable.empty() ? std::string("NUMBER_OF_TASKS") : "$" + tasks.size_variable;
  throw_config(
      "this process is a task of a launcher (" + tasks.seen + ") that started " +
      (tasks.size ? std::to_string(*tasks.size) + " tasks" : "an unknown number of tasks") +
      ", but tutti cannot find the other tasks through it: " +
      (refusals.empty() ? "no module serves this launcher" : refusals) +
      "; install the library of the launcher, or start the program as sh -c 'RANK=$" + tasks.rank_variable +
      " WORLD_SIZE=" + size +
      " MASTER_ADDR=HOST_OF_RANK_0 MASTER_PORT=29500 exec PROGRAM' (across hosts also with TUTTI_JOB_SECRET); " +
      kOneRankEach);
}

/// The Slurm step that this process is a task of, if any. Throws if it is a task of a launcher that
/// started several tasks and passes nothing by which they could meet.
std::optional<SlurmStep> step_of_this_process(const std::string& refusals) {
  const std::optional<SlurmStep> step = slurm_step(variable);
  const std::optional<StartedTasks> tasks = started_tasks(variable);
  if (step && (!tasks || is_same_start(*tasks, *step))) return step;
  if (tasks && tasks->size != 1) refuse_tasks(*tasks, refusals);
  return std::nullopt;
}

}  // namespace

std::optional<Launch> launch_from_environment(const Config& config, const std::string& refusals) {
  constexpr std::array kRun = {"RANK", "WORLD_SIZE"};
  constexpr std::array kMaster = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  const std::chrono::nanoseconds timeout =
      config.duration("TUTTI_RENDEZVOUS_TIMEOUT").value_or(std::chrono::nanoseconds::max());
  Launch launch;
  if (const std::string& address = config.text("TUTTI_STORE"); !address.empty()) {
    (void)all_set(kRun, "TUTTI_STORE");
    launch = ranks_from_environment();
    launch.source = "tutti run";
    // The launcher makes a new address and secret for every job, so the ranks need no id of the job.
    launch.store = connect_store(address, job_secret(config), timeout, {.rank = launch.rank, .size = launch.size});
    return launch;
  }
  const bool has_ranks = variable("RANK") || variable("WORLD_SIZE");
  const std::optional<SlurmStep> step = has_ranks ? std::nullopt : step_of_this_process(refusals);
  if (!step && !is_alone() && !all_set(kMaster, {})) return std::nullopt;
  if (step) {
    launch.rank = step->rank;
    launch.size = step->size;
    launch.local_rank = step->local_rank;
    launch.local_size = step->local_size;
    launch.source = "srun";
  } else {
    launch = ranks_from_environment();
    launch.source = "RANK and MASTER_ADDR";
  }
  const std::optional<std::string> host = variable("MASTER_ADDR");
  const std::optional<int> port = number("MASTER_PORT", 1, 65535);
  if ((host && is_loopback(*host)) || (step && step->on_one_host)) {
    if (launch.local_size < 0) launch.local_size = launch.size;
    if (launch.local_rank < 0) launch.local_rank = launch.rank;
  }
  if (launch.size == 1) {
    launch.store = make_local_store();
    return launch;
  }
  const std::string secret = job_secret(config);
  const std::string id = job_id(config);
  if (step && !host) {
    meet(launch, meeting_of(*step, port, !secret.empty()), secret, id, timeout);
  } else {
    meet(launch, meeting_at(*host, port.value_or(step ? port_of(*step) : 0), !secret.empty()), secret, id, timeout);
  }
  return launch;
}

}  // namespace tutti
