#pragma once

#include <string>
#include <vector>

#include "ccl_library.hpp"

/// oneCCL is set up by variables, which it reads when it starts. tutti sets those that its own bootstrap and this
/// machine ask for, and none that the user has set.
namespace tutti::ccl {

struct Variable {
  std::string name;
  std::string value;

  friend bool operator==(const Variable&, const Variable&) = default;
};

/// What the variables depend on.
struct Surroundings {
  std::string directory;  ///< of the library; empty when not known
  int local_rank = 0;     ///< among the ranks of this host
  int local_size = 1;
  int cores = 1;                ///< that this process may use
  bool has_level_zero = false;  ///< a loader that is recent enough
  bool has_network = true;      ///< an interface with an address, besides the loopback
  ApiKind api = ApiKind::cpp;   ///< the interface that is used
};

/// This host: cores, loader and network. Opens the Level Zero loader, if there is one, and starts nothing.
[[nodiscard]] Surroundings surroundings(const Library& library);

/// The variables to be set, without those that are.
[[nodiscard]] std::vector<Variable> variables_for(const Surroundings& here, const EnvironmentLookup& environment);

/// "A=1 B=2", for people.
[[nodiscard]] std::string to_text(const std::vector<Variable>& variables);

}  // namespace tutti::ccl
