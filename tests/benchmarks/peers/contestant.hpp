#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::bench {

/// One column of the tables: a library, or a way to use one, and how its ranks are started.
struct Contestant {
  enum class Kind : std::uint8_t { tutti, peer, limit };
  enum class Start : std::uint8_t {
    rank_per_process,  ///< a process per rank, told by RANK and WORLD_SIZE
    one_process,       ///< one process that makes the ranks itself; their number is an argument
    launcher,          ///< an MPI's own mpirun
  };

  std::string key;    ///< for --peers and TUTTI_REQUIRE_BACKENDS: "native", "mpi-openmpi"
  std::string title;  ///< "Open MPI"
  Kind kind = Kind::peer;
  Start start = Start::rank_per_process;
  std::string driver = {};                  ///< the program
  std::vector<std::string> arguments = {};  ///< after the name of the socket
  std::string launcher = {};
  /// Settings without which it would not run here; everything else is left to its defaults.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string absent = {};  ///< why it cannot be measured; empty when it can

  [[nodiscard]] bool usable() const noexcept { return absent.empty(); }
  /// The launcher with the options that it cannot do without; empty when there is none.
  [[nodiscard]] std::vector<std::string> launcher_command(int ranks) const;
  /// Launcher options and settings as a user would type them; empty when there are none.
  [[nodiscard]] std::string shown_settings(int ranks) const;
};

/// All of them in the order of the columns; looks for the MPIs on this machine.
[[nodiscard]] std::vector<Contestant> find_contestants();

}  // namespace tutti::bench
