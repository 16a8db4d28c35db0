#pragma once

#include <cstdint>

#include "conformance/cases/report.hpp"
#include "tutti/communicator.hpp"

/// Scenarios about the completion of operations; see Scenario.
namespace tutti::test {

/// Several pending operations, waited for in another order and by polling.
void async_in_flight(const Communicator& comm, std::uint64_t seed, Report& report);
/// Some ranks wait for a pending operation before a blocking one of another size, the others after it.
void waits_in_between(const Communicator& comm, std::uint64_t seed, Report& report);
/// An operation is pending until the last rank has called it.
void waits_for(const Communicator& comm, std::uint64_t seed, Report& report);
/// If a rank does not call an operation, the others get a timeout, and the communicator stays unusable.
void times_out(const Communicator& comm, std::uint64_t seed, Report& report);

}  // namespace tutti::test
