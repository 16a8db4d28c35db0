#include "ccl_environment.hpp"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace tutti::ccl {
namespace {

namespace fs = std::filesystem;

/// oneCCL ends the process when the loader lacks zesInit, as that of Debian 12 does.
bool has_recent_loader() {
  void* loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (loader == nullptr) return false;
  const bool recent = dlsym(loader, "zesInit") != nullptr;
  dlclose(loader);
  return recent;
}

bool has_network() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    found = found || one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6;
  }
  freeifaddrs(all);
  return found;
}

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(CPU_COUNT(&allowed), 1) : 1;
}

/// libfabric beside libccl, or where an Intel MPI keeps it.
std::string fabric_library(const std::string& directory) {
  if (directory.empty()) return {};
  std::error_code error;
  for (const char* place : {"libfabric.so.1", "../opt/mpi/libfabric/lib/libfabric.so.1"}) {
    const fs::path file = fs::path(directory) / place;
    // oneCCL takes no path with dots in it.
    if (fs::exists(file, error)) return fs::weakly_canonical(file.parent_path(), error) / file.filename();
  }
  return {};
}

std::string provider_folder(const std::string& library) {
  const fs::path directory = fs::path(library).parent_path();
  std::error_code error;
  for (const fs::path& place : {directory / "prov", directory}) {
    if (fs::exists(place / "libtcp-fi.so", error)) return place;
  }
  return {};
}

}  // namespace

Surroundings surroundings(const Library& library) {
  return {.directory = library.directory,
          .cores = usable_cores(),
          .has_level_zero = has_recent_loader(),
          .has_network = has_network(),
          .api = library.api};
}

std::vector<Variable> variables_for(const Surroundings& here, const EnvironmentLookup& environment) {
  std::vector<Variable> result;
  const auto set = [&](const char* name, const std::string& value) {
    if (!environment(name)) result.push_back({name, value});
  };
  // The ranks meet through tutti, whoever started them, and need no MPI; none is to be loaded into a process that may
  // have another one.
  if (!environment("CCL_ATL_TRANSPORT")) {
    set("CCL_ATL_TRANSPORT", "ofi");
    set("CCL_MPI_LIBRARY_PATH", "/dev/null");
  }
  set("CCL_PROCESS_LAUNCHER", "none");
  set("CCL_LOCAL_RANK", std::to_string(here.local_rank));
  set("CCL_LOCAL_SIZE", std::to_string(here.local_size));
  if (here.api == ApiKind::c) {
    // By itself it would look for GPUs first. The one for SYCL also takes host memory, but leaves a thread and its
    // sockets behind with each communicator.
    set("CCL_PLUGIN", "ONECCL_LEGACY_CPU");
    // It prints errors with a trace of the stack, the words of which it hands out as well.
    if (!environment("CCL_LOG_LEVEL")) set("CCL_LOG_FILE", "/dev/null");
  }
  set("CCL_LOG_LEVEL", "error");
  // Off by default where a process has one core only; but without a worker thread oneCCL can serve one thread at a
  // time, and messages on different ways wait on threads of their own.
  set("CCL_WORKER_OFFLOAD", "1");
  if (!here.has_level_zero) set("CCL_ZE_ENABLE", "0");
  if (!here.has_network) set("CCL_KVS_IFACE", "lo");
  // A rank and its worker thread both spin. With more of them than cores that costs a time slice per message.
  if (2 * here.local_size > here.cores) set("CCL_YIELD", "sched_yield");

  if (here.directory.empty()) return result;
  set("CCL_ROOT", fs::path(here.directory).parent_path().string());
  const bool named = environment("I_MPI_OFI_LIBRARY").has_value() || environment("CCL_OFI_LIBRARY_PATH").has_value();
  if (const std::string fabric = fabric_library(here.directory); !named && !fabric.empty()) {
    set("CCL_OFI_LIBRARY_PATH", fabric);
    if (const std::string providers = provider_folder(fabric); !providers.empty()) set("FI_PROVIDER_PATH", providers);
  }
  return result;
}

std::string to_text(const std::vector<Variable>& variables) {
  std::string text;
  for (const Variable& variable : variables) {
    text += (text.empty() ? "" : " ") + variable.name + "=" + variable.value;
  }
  return text;
}

}  // namespace tutti::ccl
