#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Detects the MPI launcher that started this process, and the libraries to try. Does not use mpi.h: it runs before a
/// library is chosen, for both ABIs.
namespace tutti::mpi {

/// The two binary interfaces of MPI libraries. Intel MPI, MVAPICH and Cray MPI have that of MPICH.
enum class Abi : std::uint8_t { openmpi, mpich };

/// Name of the ABI in file names and in ForeignHandle::variant.
[[nodiscard]] constexpr std::string_view name(Abi abi) noexcept { return abi == Abi::openmpi ? "openmpi" : "mpich"; }

/// File names of the libraries of an ABI, the most common one first.
[[nodiscard]] std::vector<std::string> library_names(Abi abi);

/// Rank and size that the launcher passed to this process.
struct Launch {
  int rank = 0;
  int size = 0;  ///< 0: not passed
};

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;

/// The job in which a launcher of this ABI started this process, or nothing. A launcher that sets only PMIx variables
/// (a batch system) does not show its ABI: it counts as Open MPI's, unless TUTTI_MPI_LIBRARY is set (`library_given`).
/// Then both ABIs report the job, and the ABI of that library decides.
[[nodiscard]] std::optional<Launch> find_launch(Abi abi, const EnvironmentLookup& environment, bool library_given);

/// Throws Error{backend_unavailable} if the launcher started several ranks: called when MPI_COMM_WORLD has one rank.
/// The library, named by `version`, then does not understand the launcher.
void refuse_singleton(const std::optional<Launch>& launch, const std::string& version);

/// The executables of the parent process, its parent, and so on for a few levels.
[[nodiscard]] std::vector<std::filesystem::path> ancestor_executables();

/// Text that the ranks which one launcher started on this host have in common, and the ranks of no other job; empty if
/// the launcher cannot be told.
[[nodiscard]] std::string launcher_key();

/// The libraries to try, best first: existing files next to the launcher among `ancestors`, then existing files below
/// I_MPI_ROOT (MPICH ABI), then names for the system's search path.
[[nodiscard]] std::vector<std::string> library_candidates(Abi abi, const EnvironmentLookup& environment,
                                                          const std::vector<std::filesystem::path>& ancestors);

}  // namespace tutti::mpi
