#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/process.hpp"

namespace tutti::tools {

/// The program that starts the ranks: tutti itself or an MPI's launcher.
enum class LauncherKind : std::uint8_t { tutti, openmpi, mpich, intel };

/// A backend together with the launcher that starts its ranks on this machine.
struct LaunchTarget {
  LauncherKind kind = LauncherKind::tutti;
  std::string name = "native";  ///< "native", "ccl", "nccl", "mpi-openmpi", "mpi-mpich", "mpi-intel"
  bool usable = true;
  std::string reason;    ///< why it is not usable
  std::string launcher;  ///< path of the MPI's launcher; empty when tutti starts the ranks
  std::string version;   ///< of the launcher; when tutti starts the ranks, of the backend's library
  std::string root;      ///< folder of Intel MPI; empty when the launcher is not from that folder

  /// The value of TUTTI_BACKEND: "native", "ccl", "nccl" or "mpi".
  [[nodiscard]] std::string_view backend() const noexcept;
  /// The variant of the MPI module that this MPI needs; empty for other backends.
  [[nodiscard]] std::string_view module_variant() const noexcept;
};

/// Folder of Intel MPI: the variable TUTTI_INTEL_MPI_ROOT, else the default.
[[nodiscard]] std::string intel_mpi_root();
/// Folder of Intel MPI that was configured at build time; may be empty.
[[nodiscard]] std::string default_intel_mpi_root();

/// Names of all targets, in the order in which they are shown.
[[nodiscard]] std::span<const std::string_view> launch_target_names() noexcept;

/// The target called `name`; "mpi" is the first usable MPI. Searches this machine: runs an mpirun with --version, or
/// asks the backend for its library. Throws UsageError for an unknown name.
[[nodiscard]] LaunchTarget find_launch_target(std::string_view name);

/// All targets, in the order of launch_target_names().
[[nodiscard]] std::vector<LaunchTarget> launch_targets();

/// The MPI whose launcher prints this for --version; LauncherKind::tutti when it is unknown.
[[nodiscard]] LauncherKind identify_launcher(std::string_view version_output) noexcept;

/// The first version number in a text: "4.1.4".
[[nodiscard]] std::string extract_version(std::string_view version_output);

/// Facts about the machine and the user that decide the launcher's options.
struct LaunchHost {
  int cores = 1;
  bool is_root = false;
};
[[nodiscard]] LaunchHost this_host();

/// The launcher and its options, without the ranks' program; empty when tutti starts the ranks.
[[nodiscard]] std::vector<std::string> launcher_command(const LaunchTarget& target, int ranks, const LaunchHost& host);

/// Removes the variables of an outer launcher and sets those that this launcher needs.
void prepare_environment(const LaunchTarget& target, ProcessEnvironment& environment);

}  // namespace tutti::tools
