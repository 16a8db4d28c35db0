#pragma once

#include <cstdint>

#include "conformance/cases/report.hpp"
#include "tutti/communicator.hpp"

/// Scenarios about groups of operations and groups of ranks; see Scenario.
namespace tutti::test {

/// Every rank sends to and receives from every other rank at once.
void group_exchange(const Communicator& comm, std::uint64_t seed, Report& report);
/// Collectives and exchanges in one group.
void group_mixed(const Communicator& comm, std::uint64_t seed, Report& report);
/// An exception in a group's body discards what was collected; the communicator stays usable.
void group_discards(const Communicator& comm, std::uint64_t seed, Report& report);
/// Blocking send and recv between two ranks, several in a row.
void pairs(const Communicator& comm, std::uint64_t seed, Report& report);
/// New groups by colour and key, some ranks in none.
void splits(const Communicator& comm, std::uint64_t seed, Report& report);
/// A copy of the group that is independent of it.
void duplicates(const Communicator& comm, std::uint64_t seed, Report& report);
/// Two threads of every rank use a communicator each, at the same time.
void two_communicators(const Communicator& comm, std::uint64_t seed, Report& report);

}  // namespace tutti::test
