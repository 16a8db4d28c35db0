#pragma once

#include <span>
#include <string_view>

#include "conformance/cases/report.hpp"
#include "tutti/communicator.hpp"

namespace tutti::test {

/// What a communicator promises beyond the result of a single operation. Collective: every rank runs the same one. They
/// leave the communicator usable.
struct Scenario {
  std::string_view name;
  void (*run)(const Communicator& comm, std::uint64_t seed, Report& report);
  /// A library that cannot cancel may be unable to end in order afterwards: its launcher then complains.
  bool leaves_operations = false;
};

/// All scenarios.
[[nodiscard]] std::span<const Scenario> scenarios();

/// The scenario of that name; null when there is none.
[[nodiscard]] const Scenario* find_scenario(std::string_view name);

/// Runs one; its name is put before what it throws.
void run_scenario(const Scenario& scenario, const Communicator& comm, std::uint64_t seed, Report& report);

}  // namespace tutti::test
