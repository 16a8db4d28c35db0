#include "launch/launch.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>

#include "settings/settings.hpp"
#include "store/local_store.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti {
namespace {

constexpr std::size_t kMaxSecretFileBytes = 4096;

[[noreturn]] void throw_config(const std::string& message) { throw Error(ErrorCode::config, message); }

/// A variable of the launcher; an empty one counts as not set.
std::optional<std::string> variable(const char* name) {
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

/// Decides by the spelling, not by name resolution, which may differ between hosts: all ranks must get the same result.
bool is_loopback(const std::string& host) {
  const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || host == "[::1]" || (is_ipv4 && host.starts_with("127."));
}

/// Address of the store that rank 0 hosts; every rank derives it on its own.
std::string master_address(const std::string& host, int port, bool has_secret) {
  if (has_secret) {
    const bool bracket = host.find(':') != std::string::npos && !host.starts_with('[');
    return "tcp:" + (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
  }
  if (is_loopback(host)) return "unix:tutti-" + std::to_string(::geteuid()) + "-" + std::to_string(port);
  throw_config(
      "MASTER_ADDR=" + printable(host) +
      " is not a loopback address, so the ranks need a secret to authenticate each other: set TUTTI_JOB_SECRET to the "
      "same random value on all ranks, or TUTTI_JOB_SECRET_FILE to a file that holds it");
}

std::shared_ptr<StoreServer> host_store(const std::string& address, const std::string& secret, int port) {
  try {
    return std::make_shared<StoreServer>(address, secret);
  } catch (const Error& error) {
    if (error.vendor_code() != EADDRINUSE) throw;
    throw_config(
        "MASTER_PORT=" + std::to_string(port) + " is taken (" + error.what() +
        "), possibly by the launcher's own store or another job; set another MASTER_PORT, the same on all ranks");
  }
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

}  // namespace

std::optional<Launch> launch_from_environment(const Config& config) {
  constexpr std::array kRun = {"RANK", "WORLD_SIZE"};
  constexpr std::array kMaster = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  const std::chrono::nanoseconds timeout =
      config.duration("TUTTI_RENDEZVOUS_TIMEOUT").value_or(std::chrono::nanoseconds::max());
  if (const std::string& address = config.text("TUTTI_STORE"); !address.empty()) {
    (void)all_set(kRun, "TUTTI_STORE");
    Launch launch = ranks_from_environment();
    launch.source = "tutti run";
    launch.store = connect_store(address, job_secret(config), timeout);
    return launch;
  }
  if (!all_set(kMaster, {})) return std::nullopt;
  Launch launch = ranks_from_environment();
  launch.source = "RANK and MASTER_ADDR";
  const std::string host = variable("MASTER_ADDR").value();
  const int port = number("MASTER_PORT", 1, 65535).value();
  if (is_loopback(host)) {
    if (launch.local_size < 0) launch.local_size = launch.size;
    if (launch.local_rank < 0) launch.local_rank = launch.rank;
  }
  if (launch.size == 1) {
    launch.store = make_local_store();
    return launch;
  }
  const std::string secret = job_secret(config);
  const std::string address = master_address(host, port, !secret.empty());
  if (launch.rank == 0) launch.server = host_store(address, secret, port);
  launch.store = connect_store(address, secret, timeout);
  return launch;
}

}  // namespace tutti
