#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Who started this process, as far as MPI is concerned. Free of mpi.h: what is decided here is decided before a
/// library is chosen, and for either ABI.
namespace tutti::mpi {

/// The two binary interfaces there are. Intel MPI, MVAPICH and Cray MPI follow MPICH's.
enum class Abi : std::uint8_t { openmpi, mpich };

/// The spelling in file names and ForeignHandle::variant.
[[nodiscard]] constexpr std::string_view name(Abi abi) noexcept { return abi == Abi::openmpi ? "openmpi" : "mpich"; }

/// The names the libraries of an ABI are installed under, the usual one first.
[[nodiscard]] std::vector<std::string> library_names(Abi abi);

/// What the launcher told this process.
struct Launch {
  int rank = 0;
  int size = 0;  ///< 0: it does not say
};

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;

/// The job a launcher of this ABI started this process in; nothing when there is none. A launcher that speaks PMIx only
/// (a batch system) does not tell which ABI it is for: it counts as Open MPI's, unless TUTTI_MPI_LIBRARY says which
/// library is meant (`library_given`): then either ABI may claim it, and the library decides.
[[nodiscard]] std::optional<Launch> find_launch(Abi abi, const EnvironmentLookup& environment, bool library_given);

/// The executables of the parent process, its parent, and so on for a few levels.
[[nodiscard]] std::vector<std::filesystem::path> ancestor_executables();

/// Where to look for the library, best first: next to the launcher among `ancestors`, below I_MPI_ROOT, and at last by
/// name in the system's search path. Only the files that exist, besides the names.
[[nodiscard]] std::vector<std::string> library_candidates(Abi abi, const EnvironmentLookup& environment,
                                                          const std::vector<std::filesystem::path>& ancestors);

}  // namespace tutti::mpi
