#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/process.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/launcher.hpp"

namespace tutti::tools {

/// A backend together with the program that starts its ranks on this machine.
struct LaunchTarget {
  std::string spec = "native";  ///< with colons; the value of TUTTI_BACKEND
  bool usable = true;
  std::string reason;                          ///< why it is not usable
  std::string version;                         ///< of the backend's own launcher; without one, of its library
  const spi::BackendModule* module = nullptr;  ///< null when the module could not be loaded
  const spi::Launcher* launcher = nullptr;     ///< null: tutti starts the ranks
  std::string path;                            ///< of the launcher
  std::string launcher_version;                ///< number that the launcher prints for --version; may be empty
  std::string root;                            ///< folder that the launcher was found in; empty: found in PATH

  /// The spec for people: "NAME[:SPEC]" for a backend that may stand on any other one.
  [[nodiscard]] std::string shown() const;
  /// Whether the backend stands on another one that the spec does not name.
  [[nodiscard]] bool is_open() const;
};

/// The backends that a command line may name, e.g. "native, mpi:openmpi, mpi:mpich, mpi".
[[nodiscard]] std::string accepted_specs(const std::vector<BackendInfo>& backends = unprobed_backends());

/// The form of `text` with colons. Asks no library. Throws UsageError that lists the accepted specs if it names no
/// backend.
[[nodiscard]] std::string check_spec(std::string_view text,
                                     const std::vector<BackendInfo>& backends = unprobed_backends());

/// The target that `text` names; a module's name alone is its first usable product. Searches this machine: runs a
/// launcher with --version, or asks the backend for its library. Throws as check_spec().
[[nodiscard]] LaunchTarget find_launch_target(std::string_view text,
                                              const std::vector<BackendInfo>& backends = unprobed_backends());

/// All targets. Backends that tutti starts come first, then those with launchers, then those that stand on others, then
/// files that could not be loaded.
[[nodiscard]] std::vector<LaunchTarget> launch_targets(const std::vector<BackendInfo>& backends = unprobed_backends());

/// Folder of the launcher's library: the variable that the launcher names, else its default; may be empty.
[[nodiscard]] std::string launcher_root(const spi::Launcher& launcher);

/// The first version number in a text: "4.1.4".
[[nodiscard]] std::string extract_version(std::string_view version_output);

/// Facts about the machine and the user that decide the launcher's options.
struct LaunchHost {
  int cores = 1;
  bool is_root = false;
};
[[nodiscard]] LaunchHost this_host();

/// The launcher and its options, without the ranks' program; empty when tutti starts the ranks.
[[nodiscard]] std::vector<std::string> launcher_command(const LaunchTarget& target, int ranks);

/// The variables that the launcher needs; empty when tutti starts the ranks.
[[nodiscard]] std::vector<spi::LaunchVariable> launcher_variables(const LaunchTarget& target, int ranks);

/// Removes the variables of an outer launcher and sets those that this launcher needs.
void prepare_environment(const LaunchTarget& target, int ranks, ProcessEnvironment& environment);

}  // namespace tutti::tools
