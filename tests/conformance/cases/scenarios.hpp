#pragma once

#include <span>
#include <string_view>

#include "conformance/cases/report.hpp"
#include "tutti/communicator.hpp"

namespace tutti::test {

/// Test of a property of a communicator beyond the result of a single operation. Collective: every rank runs the same
/// scenario. A scenario leaves the communicator usable.
struct Scenario {
  std::string_view name;
  void (*run)(const Communicator& comm, std::uint64_t seed, Report& report);
  /// Leaves operations pending. A library that cannot cancel them may fail at shutdown, which its launcher reports.
  bool leaves_operations = false;
  bool needs_peers = false;  ///< a single rank has nothing to check
};

/// All scenarios.
[[nodiscard]] std::span<const Scenario> scenarios();

/// The scenario with that name; null if there is none.
[[nodiscard]] const Scenario* find_scenario(std::string_view name);

/// Runs a scenario; puts its name in front of the text of an Error.
void run_scenario(const Scenario& scenario, const Communicator& comm, std::uint64_t seed, Report& report);

}  // namespace tutti::test
