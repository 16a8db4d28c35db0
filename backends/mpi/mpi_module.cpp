// The module table that the registry loads.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "launch/mpi_bootstrap.hpp"
#include "launch/mpi_launchers.hpp"
#include "mpi_backend.hpp"
#include "setup/creation_watch.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::mpi {
namespace {

// Below the native engine (100), which is faster within a host.
constexpr int kPreference = 50;
constexpr int kPreferenceAlone = 5;

constexpr std::array kSettings = {
    Setting{"TUTTI_MPI_LIBRARY", "", SettingKind::text,
            "File of the MPI library; by default the one already loaded, else that of the launcher, else that of the "
            "system."},
    Setting{"TUTTI_MPI_THREAD_LEVEL", "multiple", SettingKind::choice,
            "Thread level that tutti requests from MPI_Init_thread when it starts MPI.",
            "single|funneled|serialized|multiple"},
    Setting{.name = "TUTTI_MPI_MAX_COUNT",
            .default_value = "2147483647",
            .kind = SettingKind::integer,
            .help = "Maximum number of elements in one MPI call with int counts (1 to 2147483647).",
            .common = true},
    Setting{.name = "TUTTI_MPI_LARGE_COUNT",
            .default_value = "auto",
            .kind = SettingKind::choice,
            .help = "For more elements than TUTTI_MPI_MAX_COUNT: MPI-4's large-count functions if the library has "
                    "them (auto), or always several calls (split).",
            .choices = "auto|split",
            .common = true},
};

/// Words that may follow "mpi:".
constexpr auto kProducts = [] {
  if constexpr (kAbi == Abi::openmpi) {
    return std::array<std::string_view, 1>{"openmpi"};
  } else {
    return std::array<std::string_view, 2>{"mpich", "intel"};
  }
}();

constexpr std::span<const spi::Launcher> launchers() {
  if constexpr (kAbi == Abi::openmpi) {
    return kOpenMpiLaunchers;
  } else {
    return kMpichLaunchers;
  }
}

CountLimits limits_from(const Config& config) {
  const std::uint64_t max_count = config.integer("TUTTI_MPI_MAX_COUNT");
  if (max_count == 0 || max_count > INT32_MAX) {
    throw Error(ErrorCode::config,
                "TUTTI_MPI_MAX_COUNT=" + std::to_string(max_count) + " is out of range; accepted: 1 to 2147483647",
                "mpi");
  }
  return {max_count, config.text("TUTTI_MPI_LARGE_COUNT") == "auto"};
}

/// Reason why MPI cannot serve this group, or empty. Checked before the library is opened, which takes time and memory.
std::string refusal(const Config& config, const spi::Peers* peers) {
  if (peers == nullptr || peers->size == 1) return {};
  if (peers->same_process) return "the ranks are threads of one process; MPI needs one process per rank";
  if (Runtime::is_running()) return {};
  const auto launch = find_launch(kAbi, spi::environment, !config.text("TUTTI_MPI_LIBRARY").empty());
  if (!launch) {
    return "this process was not started by a launcher of " +
           std::string(kAbi == Abi::openmpi ? "Open MPI" : "MPICH or Intel MPI") +
           "; start the job with its mpirun or with tutti run --backend mpi";
  }
  if (launch->size != 0 && launch->size < peers->size) {
    return "the MPI launcher started " + std::to_string(launch->size) + " ranks, but the group has " +
           std::to_string(peers->size);
  }
  return {};
}

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe probe;
  probe.capabilities = capabilities();
  probe.reason = refusal(context.config, context.peers);
  if (!probe.reason.empty()) return probe;
  (void)limits_from(context.config);
  constexpr Abi kOther = kAbi == Abi::openmpi ? Abi::mpich : Abi::openmpi;
  if (is_initialized_in_process(kOther)) {
    probe.reason = "an MPI with the ABI \"" + std::string(name(kOther)) + "\" is already running in this process";
    return probe;
  }
  const Library& library = Runtime::library(context.config);
  probe.version = library.version;
  probe.product = library.product;
  probe.reason = library.failure;
  if (library.handle == nullptr) return probe;
  if (!context.rest.empty() && context.rest != library.product) {
    probe.reason = "the MPI library is " + library.version + " (" + library.origin +
                   "), not mpi:" + std::string(context.rest) +
                   "; start the job with tutti run --backend mpi:" + std::string(context.rest);
    return probe;
  }

  const auto launch = find_launch(kAbi, spi::environment, !context.config.text("TUTTI_MPI_LIBRARY").empty());
  const bool in_job = launch.has_value() || Runtime::is_running();
  probe.usable = in_job || context.peers != nullptr;
  probe.preference = in_job ? kPreference : kPreferenceAlone;
  probe.reason = library.origin;
  if (!in_job) probe.reason += "; no MPI launcher started this process, so it can serve one rank only";
  return probe;
}

/// Creates a communicator of `members` of `parent`; collective over the members only.
MPI_Comm comm_of_members(const Api& api, SetupCalls& calls, MPI_Comm parent, std::span<const int> members) {
  // One tag is enough, because calls on one communicator are ordered.
  constexpr int kCreateTag = 3;
  MPI_Group all{};
  MPI_Group some{};
  MPI_Comm comm = api.handles.comm_null;
  check(api, api.comm_group(parent, &all), "splitting a communicator");
  check(api, api.group_incl(all, static_cast<int>(members.size()), members.data(), &some), "splitting a communicator");
  const int code = calls.carry_out([&] { return api.comm_create_group(parent, some, kCreateTag, &comm); });
  check(api, code, "splitting a communicator");
  api.group_free(&some);
  api.group_free(&all);
  return comm;
}

extern const spi::BackendModule kModule;

MPI_Comm duplicate(const Api& api, SetupCalls& calls, MPI_Comm comm) {
  MPI_Comm result = api.handles.comm_null;
  const int code = calls.carry_out([&] { return api.comm_dup(comm, &result); });
  check(api, code, "duplicating a communicator");
  return result;
}

/// Place of a process in MPI_COMM_WORLD.
struct WorldPlace {
  int rank = 0;
  int size = 0;
};

/// The ranks of the group in MPI_COMM_WORLD, by rank of the group. Exchanged before the first collective call of MPI,
/// which would hang if the group were not a part of one MPI job.
std::vector<int> world_ranks(const Api& api, const spi::CreateContext& context) {
  WorldPlace mine;
  check(api, api.comm_rank(api.handles.comm_world, &mine.rank), "getting the rank of MPI_COMM_WORLD");
  check(api, api.comm_size(api.handles.comm_world, &mine.size), "getting the size of MPI_COMM_WORLD");
  std::vector<int> ranks;
  std::string problem;
  for (const std::string& text :
       context.rendezvous.allgather("mpi.world", std::to_string(mine.rank) + " " + std::to_string(mine.size))) {
    WorldPlace place;
    std::istringstream(text) >> place.rank >> place.size;
    if (place.size != mine.size || std::ranges::find(ranks, place.rank) != ranks.end()) {
      problem = "rank " + std::to_string(ranks.size()) + " of the group is rank " + std::to_string(place.rank) +
                " of " + std::to_string(place.size) + " in MPI_COMM_WORLD, and this process is rank " +
                std::to_string(mine.rank) + " of " + std::to_string(mine.size);
    }
    ranks.push_back(place.rank);
  }
  if (problem.empty()) return ranks;
  context.rendezvous.barrier("mpi.world");  // rank 0 may serve the store: all are to read the answers
  throw Error(ErrorCode::backend_unavailable,
              "the ranks of the group are not distinct ranks of one MPI job: " + problem +
                  "; start all of them with one mpirun",
              "mpi");
}

bool is_whole_world(const Api& api, std::span<const int> ranks) {
  int size = 0;
  check(api, api.comm_size(api.handles.comm_world, &size), "getting the size of MPI_COMM_WORLD");
  return std::cmp_equal(ranks.size(), size) && std::ranges::is_sorted(ranks);
}

MPI_Comm make_comm(const Api& api, SetupCalls& calls, const spi::CreateContext& context) {
  if (const auto* parent = spi::parent_of<const Communicator>(context, kModule)) {
    return comm_of_members(api, calls, parent->group().comm, context.members);
  }
  if (context.handle != nullptr) return duplicate(api, calls, comm_of(*context.handle));
  if (context.peers.size == 1) return duplicate(api, calls, api.handles.comm_self);
  const std::vector<int> ranks = world_ranks(api, context);
  if (is_whole_world(api, ranks)) return duplicate(api, calls, api.handles.comm_world);
  return comm_of_members(api, calls, api.handles.comm_world, ranks);
}

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  const CountLimits limits = limits_from(context.config);
  CreationWatch watch(context.rendezvous);
  Runtime& runtime = Runtime::started(context.config, watch.calls());
  const Entry entry(runtime.gate());
  auto communicator = std::make_unique<Communicator>(runtime, make_comm(runtime.api(), watch.calls(), context), limits);
  const Group& group = communicator->group();
  if (group.rank != context.peers.rank || group.size != context.peers.size) {
    throw Error(ErrorCode::invalid_usage,
                "this process is rank " + std::to_string(group.rank) + " of " + std::to_string(group.size) +
                    " in the MPI communicator, but rank " + std::to_string(context.peers.rank) + " of " +
                    std::to_string(context.peers.size) + " in the group",
                "mpi");
  }
  return communicator;
}

constexpr spi::BackendModule kModule = {
    .name = "mpi",
    .variant = name(kAbi),
    .description = kAbi == Abi::openmpi ? "Message Passing Interface: Open MPI"
                                        : "Message Passing Interface: MPICH, Intel MPI and others of that ABI",
    .settings = kSettings,
    .products = kProducts,
    .launchers = launchers(),
    .probe = probe,
    .create = create,
    .launched = bootstrap_from_launcher,
    .adopt = bootstrap_from_handle,
};

}  // namespace
}  // namespace tutti::mpi

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::mpi::kModule; }
