#include "creation/ccl_environment.hpp"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "ccl_mpi.hpp"
#include "common/intel_mpi.hpp"
#include "tutti/spi/folder.hpp"

namespace tutti::ccl {
namespace {

namespace fs = std::filesystem;

/// Whether the Level Zero loader has zesInit. Without it, as on Debian 12, oneCCL ends the process.
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

/// Whether a driver for a GPU made a device that renders or computes.
bool has_render_device() {
  return std::ranges::any_of(spi::names_in("/dev/dri"),
                             [](const std::string& name) { return name.starts_with("renderD"); });
}

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(CPU_COUNT(&allowed), 1) : 1;
}

/// File of libfabric: next to libccl, or where Intel MPI keeps it; empty if there is none.
std::string fabric_library(const std::string& directory) {
  if (directory.empty()) return {};
  std::error_code error;
  for (const char* place : {"libfabric.so.1", "../opt/mpi/libfabric/lib/libfabric.so.1"}) {
    const fs::path file = fs::path(directory) / place;
    // oneCCL accepts no path with ".." in it.
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

Surroundings surroundings(const Library& library, const EnvironmentLookup& environment) {
  const bool recent = has_recent_loader();
  return {.directory = library.directory,
          .cores = usable_cores(),
          .has_level_zero = recent,
          .has_network = has_network(),
          .api = library.api,
          .has_gpu = recent && has_render_device(),
          .mpi_library = library.api == ApiKind::cpp && is_started_by_intel_mpi(environment)
                             ? find_intel_mpi(library.directory, environment)
                             : std::string()};
}

std::vector<Variable> variables_for(const Surroundings& here, const EnvironmentLookup& environment) {
  std::vector<Variable> result;
  const auto set = [&](const char* name, const std::string& value) {
    if (!environment(name)) result.push_back({name, value});
  };
  // Over MPI where Intel MPI started the ranks, as oneCCL's users do; it is the fastest transport on one host. The
  // calls of the C interface return when they are complete, which MPI without a worker thread does not allow.
  const bool by_mpi = !here.mpi_library.empty() && here.api == ApiKind::cpp;
  const std::string transport = environment("CCL_ATL_TRANSPORT").value_or(by_mpi ? "mpi" : "ofi");
  if (!environment("CCL_ATL_TRANSPORT")) {
    set("CCL_ATL_TRANSPORT", transport);
    // Without MPI, oneCCL must not load one into a process that may have another. With MPI, it must be the same file.
    set("CCL_MPI_LIBRARY_PATH", by_mpi ? here.mpi_library : "/dev/null");
  }
  set("CCL_PROCESS_LAUNCHER", "none");
  set("CCL_LOCAL_RANK", std::to_string(here.local_rank));
  set("CCL_LOCAL_SIZE", std::to_string(here.local_size));
  if (here.api == ApiKind::c) {
    // By default the library tries the plug-ins for GPUs first. The plug-in for SYCL also takes host memory, but leaks
    // a thread and its sockets with each communicator.
    set("CCL_PLUGIN", "ONECCL_LEGACY_CPU");
    // The library prints errors with a stack trace, although it also returns their texts.
    if (!environment("CCL_LOG_LEVEL")) set("CCL_LOG_FILE", "/dev/null");
  }
  set("CCL_LOG_LEVEL", "error");
  // A worker thread spins on a core that a rank needs. Over MPI tutti lets one thread at a time into oneCCL instead,
  // except with GPUs, where operations must go on while no thread waits for them. Over OFI the worker is needed,
  // because tutti sends messages of different directions from different threads; in a process with one core oneCCL
  // would run without it.
  const bool works = transport != "mpi" || here.api == ApiKind::c || here.has_gpu;
  set("CCL_WORKER_OFFLOAD", works ? "1" : "0");
  // The other algorithms of allgatherv, unlike those of all other operations, return when they are complete: no other
  // thread could get its turn.
  if (transport == "mpi" && here.api == ApiKind::cpp) {
    set("CCL_ALLGATHERV", "direct");
    set(common::kIntelAllgathervVariable, common::kIntelAllgathervChoice);
  }
  if (!here.has_level_zero) set("CCL_ZE_ENABLE", "0");
  // Neither oneCCL's store nor the ports of libfabric have a password.
  if (here.same_host || !here.has_network) {
    set(kStoreInterface, kLoopback);
    if (transport != "mpi") set("FI_TCP_IFACE", kLoopback);
  }
  // The caller and oneCCL's worker thread both spin. With more spinning threads than cores each message costs a time
  // slice.
  if (2 * here.local_size > here.cores) set("CCL_YIELD", "sched_yield");

  if (here.directory.empty()) return result;
  set("CCL_ROOT", fs::path(here.directory).parent_path().string());
  // MPI brings its own libfabric.
  if (transport == "mpi") return result;
  const bool named = environment("I_MPI_OFI_LIBRARY").has_value() || environment("CCL_OFI_LIBRARY_PATH").has_value();
  if (const std::string fabric = fabric_library(here.directory); !named && !fabric.empty()) {
    set("CCL_OFI_LIBRARY_PATH", fabric);
    if (const std::string providers = provider_folder(fabric); !providers.empty()) set("FI_PROVIDER_PATH", providers);
  }
  return result;
}

bool takes_turns(ApiKind api, const EnvironmentLookup& environment) {
  return api == ApiKind::cpp && environment("CCL_ATL_TRANSPORT") == "mpi" && environment("CCL_WORKER_OFFLOAD") == "0";
}

std::string to_text(const std::vector<Variable>& variables) {
  std::string text;
  for (const Variable& variable : variables) {
    text += (text.empty() ? "" : " ") + variable.name + "=" + variable.value;
  }
  return text;
}

}  // namespace tutti::ccl
