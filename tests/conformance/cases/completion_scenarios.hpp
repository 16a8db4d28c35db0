#pragma once

#include <cstdint>

#include "conformance/cases/report.hpp"
#include "tutti/communicator.hpp"

/// Scenarios about when operations complete; see Scenario.
namespace tutti::test {

/// Several operations under way, waited for in another order and by polling.
void async_in_flight(const Communicator& comm, std::uint64_t seed, Report& report);
/// A pending operation says so, and completes when the last rank has come.
void waits_for(const Communicator& comm, std::uint64_t seed, Report& report);
/// A rank that does not come is named in the timeout of the others.
void times_out(const Communicator& comm, std::uint64_t seed, Report& report);

}  // namespace tutti::test
