#pragma once

#include <string>
#include <vector>

#include "ccl_library.hpp"

/// Environment variables for oneCCL, which reads them when it starts. tutti sets those that its bootstrap and this host
/// require, and none that the user has set.
namespace tutti::ccl {

struct Variable {
  std::string name;
  std::string value;

  friend bool operator==(const Variable&, const Variable&) = default;
};

/// Variable that names the network interface of oneCCL's key-value store, and its value for jobs on one host.
inline constexpr const char* kStoreInterface = "CCL_KVS_IFACE";
inline constexpr const char* kLoopback = "lo";

/// Properties of the host and the job that determine the variables.
struct Surroundings {
  std::string directory;  ///< folder of the library; empty if unknown
  int local_rank = 0;     ///< rank among the ranks of this host
  int local_size = 1;
  int cores = 1;                 ///< number of cores that this process may use
  bool has_level_zero = false;   ///< whether there is a loader that is recent enough
  bool has_network = true;       ///< whether an interface besides the loopback has an address
  bool same_host = false;        ///< whether all ranks of the job are on this host
  ApiKind api = ApiKind::cpp;    ///< interface of oneCCL that is used
  bool has_gpu = false;          ///< whether there is a GPU that oneCCL could use
  std::string mpi_library = {};  ///< file of the Intel MPI to send through; empty: without MPI
};

/// Examines this host: cores, loader, GPU and network; not the local ranks. `mpi_library` is set if the launcher of
/// Intel MPI started this process. Opens the Level Zero loader, if there is one, and starts nothing.
[[nodiscard]] Surroundings surroundings(const Library& library, const EnvironmentLookup& environment);

/// The variables to set, without those that `environment` has.
[[nodiscard]] std::vector<Variable> variables_for(const Surroundings& here, const EnvironmentLookup& environment);

/// Whether threads must take turns in oneCCL (see Turns) once the variables are set: over MPI without a worker thread,
/// where operations can be asked for completion. Over OFI they return when they are complete, so no other thread could
/// get its turn.
[[nodiscard]] bool takes_turns(ApiKind api, const EnvironmentLookup& environment);

/// "A=1 B=2", for messages.
[[nodiscard]] std::string to_text(const std::vector<Variable>& variables);

}  // namespace tutti::ccl
