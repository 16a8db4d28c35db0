// The module table that the registry loads.
#include <algorithm>
#include <array>

#include "ccl_backend.hpp"
#include "ccl_mpi.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::ccl {
namespace {

// Below the native engine (100) and MPI (50).
constexpr int kPreference = 40;

constexpr std::array<Setting, 3> kSettings = {{
    {"TUTTI_CCL_API", "auto", SettingKind::choice,
     "Interface of oneCCL: c++, or c, which has fewer operations and takes host memory only; auto means c++.",
     "auto|c++|c"},
    {"TUTTI_CCL_QUEUES", "auto", SettingKind::choice,
     "How an operation waits for its SYCL queue: in oneCCL (direct) or on a thread of tutti (thread); auto means "
     "direct on GPUs and thread on other devices, where oneCCL would block the caller.",
     "auto|direct|thread"},
    {"TUTTI_ONECCL_ROOT", TUTTI_ONECCL_ROOT, SettingKind::text,
     "Folder of oneCCL, with lib/libccl.so.1 (or .2); if it is not set, CCL_ROOT, the folder found at build time and "
     "the search path are tried."},
}};

/// Whether another rank is a thread of this process.
bool is_same_process(const spi::Peers& peers, int rank) {
  const auto self = static_cast<std::size_t>(peers.rank);
  const auto other = static_cast<std::size_t>(rank);
  return peers.pids[other] == peers.pids[self] && peers.hosts[other] == peers.hosts[self];
}

/// Reason why oneCCL cannot serve this group, or empty. Checked before the library is opened, which takes 0.1 s and 170
/// MB.
std::string refusal(const spi::Peers* peers, bool named) {
  if (peers == nullptr) return {};
  for (int rank = 0; rank < peers->size; ++rank) {
    if (rank == peers->rank || !is_same_process(*peers, rank)) continue;
    return "ranks " + std::to_string(std::min(rank, peers->rank)) + " and " +
           std::to_string(std::max(rank, peers->rank)) +
           " are threads of one process; oneCCL needs one process per rank";
  }
  if (peers->same_host && !named) {
    return "not looked for, because the native engine serves ranks on one host; set TUTTI_BACKEND=ccl to use oneCCL";
  }
  return {};
}

/// The variables that tutti would set for one rank in this process, and those under Intel MPI's launcher.
std::string settings_text(const Library& library) {
  Surroundings here = surroundings(library, spi::environment);
  std::string text = to_text(variables_for(here, spi::environment));
  if (!here.mpi_library.empty()) return text;
  here.mpi_library = find_intel_mpi(library.directory, spi::environment);
  if (here.mpi_library.empty() || here.api == ApiKind::c || here.has_gpu) return text;
  return text + "; if Intel MPI starts the ranks " + to_text(variables_for(here, spi::environment));
}

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe probe;
  probe.reason = refusal(context.peers, context.named);
  if (!probe.reason.empty()) return probe;
  const ApiKind api = Runtime::api(context.config);
  probe.capabilities = capabilities(api, false);
  const Library& library = Runtime::library(context.config);
  probe.version = library.version;
  probe.reason = library.failure;
  if (!library.is_usable()) return probe;
  probe.usable = true;
  probe.capabilities = capabilities(api, library.queues != nullptr);
  probe.preference = kPreference;
  probe.reason = library.file;
  if (context.peers == nullptr) {
    probe.reason += "; sets " + settings_text(library);
    if (library.queues == nullptr) probe.reason += "; device memory is staged: " + library.queue_failure;
  }
  return probe;
}

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  Runtime& runtime = Runtime::started(context);
  return std::make_unique<Communicator>(runtime, context);
}

constexpr spi::BackendModule kModule = {
    .name = "ccl",
    .variant = {},
    .description = "oneAPI Collective Communications Library (oneCCL)",
    .settings = kSettings,
    .launched_through = "mpi:intel",
    .probe = probe,
    .create = create,
};

}  // namespace
}  // namespace tutti::ccl

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::ccl::kModule; }
