#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload.hpp"

namespace tutti::bench {

/// A column of the tables: a library, or a way to use it, and how its ranks are started.
struct Contestant {
  enum class Kind : std::uint8_t { tutti, peer, limit };
  enum class Start : std::uint8_t {
    rank_per_process,  ///< a process per rank, with RANK and WORLD_SIZE
    one_process,       ///< one process that starts the ranks itself; their number is an argument
    launcher,          ///< the mpirun of an MPI library
  };

  std::string key;    ///< for --peers and TUTTI_REQUIRE_BACKENDS: "native", "mpi-openmpi"
  std::string title;  ///< "Open MPI"
  Kind kind = Kind::peer;
  Start start = Start::rank_per_process;
  std::string driver = {};                  ///< the program
  std::vector<std::string> arguments = {};  ///< after the name of the socket
  std::string launcher = {};
  /// Settings that it needs on this machine; all others have their defaults.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string absent = {};     ///< reason why it cannot be measured; empty when it can
  std::vector<Op> lacks = {};  ///< operations that the library does not have on host memory

  [[nodiscard]] bool usable() const noexcept { return absent.empty(); }
  [[nodiscard]] bool has(Op op) const noexcept;
  /// The launcher with its necessary options; empty when there is no launcher.
  [[nodiscard]] std::vector<std::string> launcher_command(int ranks) const;
  /// Launcher options and settings as a user would type them; empty when there are none.
  [[nodiscard]] std::string shown_settings(int ranks) const;
};

/// All contestants in the order of the columns; searches the MPI libraries of this machine.
[[nodiscard]] std::vector<Contestant> find_contestants();

/// The same library called through tutti: same launcher, options and settings, another driver.
[[nodiscard]] Contestant through_tutti(const Contestant& direct);

}  // namespace tutti::bench
