#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/process.hpp"

namespace tutti::tools {

/// Who starts the ranks; native: tutti itself.
enum class LauncherKind : std::uint8_t { tutti, openmpi, mpich, intel };

/// A way to start ranks on this machine.
struct LaunchTarget {
  LauncherKind kind = LauncherKind::tutti;
  std::string name = "native";  ///< "native", "ccl", "nccl", "mpi-openmpi", "mpi-mpich", "mpi-intel"
  bool usable = true;
  std::string reason;    ///< why not
  std::string launcher;  ///< the MPI's own mpirun; empty where tutti starts the ranks
  std::string version;   ///< of the launcher; where tutti starts the ranks, of the backend's library
  std::string root;      ///< folder of Intel MPI

  /// What TUTTI_BACKEND must say: "native", "ccl", "nccl" or "mpi".
  [[nodiscard]] std::string_view backend() const noexcept;
  /// The module variant that this MPI needs; else empty.
  [[nodiscard]] std::string_view module_variant() const noexcept;
};

/// Where Intel MPI is: the variable TUTTI_INTEL_MPI_ROOT, else the default.
[[nodiscard]] std::string intel_mpi_root();
/// The folder that the build was told; may be empty.
[[nodiscard]] std::string default_intel_mpi_root();

/// The names of all targets in the order they are shown.
[[nodiscard]] std::span<const std::string_view> launch_target_names() noexcept;

/// The target with that name, "mpi" being the first usable MPI. Looks for it on this machine: asks an mpirun for its
/// version, a backend for its library. Throws UsageError for an unknown name.
[[nodiscard]] LaunchTarget find_launch_target(std::string_view name);

/// All of them, in order.
[[nodiscard]] std::vector<LaunchTarget> launch_targets();

/// Which MPI printed this for --version; native when it is none we know.
[[nodiscard]] LauncherKind identify_launcher(std::string_view version_output) noexcept;

/// The first version number in a text: "4.1.4".
[[nodiscard]] std::string extract_version(std::string_view version_output);

/// What the machine and the user are like, as far as it decides about the launcher's options.
struct LaunchHost {
  int cores = 1;
  bool is_root = false;
};
[[nodiscard]] LaunchHost this_host();

/// The launcher and its options, up to the program that the ranks run.
[[nodiscard]] std::vector<std::string> launcher_command(const LaunchTarget& target, int ranks, const LaunchHost& host);

/// Removes what an outer launcher left and sets what this one needs.
void prepare_environment(const LaunchTarget& target, ProcessEnvironment& environment);

}  // namespace tutti::tools
