#pragma once

#include <cstdint>

#include "conformance/cases/report.hpp"
#include "tutti/communicator.hpp"

/// Scenarios about groups of operations and groups of ranks; see Scenario.
namespace tutti::test {

/// Every rank sends to and receives from every rank, itself included, in one group.
void group_exchange(const Communicator& comm, std::uint64_t seed, Report& report);
/// Collectives and exchanges in one group.
void group_mixed(const Communicator& comm, std::uint64_t seed, Report& report);
/// An exception in the body of a group discards its operations; the communicator stays usable.
void group_discards(const Communicator& comm, std::uint64_t seed, Report& report);
/// Blocking send and recv between two ranks, several in a row.
void pairs(const Communicator& comm, std::uint64_t seed, Report& report);
/// New communicators by colour and key; some ranks get none.
void splits(const Communicator& comm, std::uint64_t seed, Report& report);
/// A duplicate is independent of its communicator.
void duplicates(const Communicator& comm, std::uint64_t seed, Report& report);
/// Two threads of every rank use one communicator each at the same time.
void two_communicators(const Communicator& comm, std::uint64_t seed, Report& report);

}  // namespace tutti::test
