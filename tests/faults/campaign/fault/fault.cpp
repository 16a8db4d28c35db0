#include "faults/campaign/fault/fault.hpp"

#include <algorithm>
#include <array>

namespace tutti::test::campaign {
namespace {

using enum ErrorCode;

constexpr Outcome kCompletes = {true, {}, {}, false};

constexpr Codes kGone = {peer_failure, aborted};
// The contract asks for an error that names the culprit during set-up and leaves its code open; a code that blames the
// caller's arguments is wrong.
constexpr Codes kAnyInSetup = {peer_failure,        aborted,        timeout, ErrorCode::system, config,
                               backend_unavailable, backend_failure};
constexpr Outcome kNamesTheDead = {false, kGone, kAnyInSetup, true};
constexpr Outcome kDead = {false, {}, {}, false};

constexpr Codes kResource = {ErrorCode::system};
constexpr Outcome kShort = {true, kResource, kResource, false};
constexpr Outcome kBesideShort = {true, {peer_failure, aborted, ErrorCode::system}, kAnyInSetup, true};

constexpr Outcome kDisagrees = {false, {invalid_usage}, {}, true};

// A damaged handshake looks like a wrong secret, which is an invalid argument.
constexpr Codes kBrokenTraffic = {peer_failure,        aborted,         timeout,         ErrorCode::system, config,
                                  backend_unavailable, backend_failure, invalid_argument};
constexpr Outcome kBesideBrokenTraffic = {true, kAnyInSetup, kBrokenTraffic, false};

constexpr std::array<FaultRow, 19> kRows = {{
    {Fault::none, "none", "nothing fails: the control", kCompletes, kCompletes, false, Status::runs, Status::runs,
     Status::runs},
    {Fault::kill, "kill", "the culprit dies of SIGKILL, SIGABRT or SIGSEGV before or during an operation",
     kNamesTheDead, kDead, true, Status::runs, Status::open, Status::runs},
    {Fault::kill_setup,
     "kill_setup",
     "the culprit dies of SIGKILL while the communicators are made",
     {true, kGone, kAnyInSetup, true},
     kDead,
     true,
     Status::runs,
     Status::open,
     Status::runs},
    {Fault::absent, "absent", "the culprit never calls world()", kNamesTheDead, kDead, true, Status::runs, Status::open,
     Status::runs},
    {Fault::stop, "stop", "the culprit stands still (SIGSTOP, then SIGCONT) for less than the timeout", kCompletes,
     kCompletes, false, Status::runs, Status::runs, Status::runs},
    {Fault::exit, "exit", "the culprit exits with 0 and does not destroy its communicators", kNamesTheDead, kDead, true,
     Status::runs, Status::open, Status::open},
    {Fault::throws, "throw", "the culprit's own code throws; its communicators are destroyed by unwinding",
     kNamesTheDead, kDead, false, Status::runs, Status::open, Status::runs},
    {Fault::mismatch, "mismatch",
     "the culprit calls another count, type, reduction or operation where all ranks wait for all", kDisagrees,
     kDisagrees, false, Status::runs, Status::runs, Status::runs},
    {Fault::mismatch_rooted, "mismatch_root", "the same with a root, which may not wait for the others", kDisagrees,
     kDisagrees, false, Status::runs, Status::runs, Status::runs},
    {Fault::late,
     "late",
     "the culprit is late beyond TUTTI_TIMEOUT",
     {false, {timeout}, {}, true},
     {false, {timeout, peer_failure, aborted}, {}, false},
     false,
     Status::runs,
     Status::open,
     Status::open},
    {Fault::abort,
     "abort",
     "the culprit calls Communicator::abort()",
     {false, kGone, {}, true},
     {false, {aborted}, {}, false},
     false,
     Status::runs,
     Status::open,
     Status::open},
    {Fault::fork, "fork", "the culprit forks a child that exits or tries to use the communicator", kCompletes,
     kCompletes, false, Status::runs, Status::runs, Status::runs},
    {Fault::store, "store", "bytes between the ranks and the store are changed, cut off, held back or injected",
     kBesideBrokenTraffic, kBesideBrokenTraffic, false, Status::runs, Status::never, Status::open},
    {Fault::bad_variable,
     "bad_variable",
     "a variable of the culprit has a value that does not parse",
     {false, {}, kAnyInSetup, true},
     {false, {}, {config, backend_unavailable}, false},
     false,
     Status::runs,
     Status::runs,
     Status::runs},
    {Fault::settings,
     "settings",
     "a setting that all ranks must share differs on the culprit",
     {false, {}, {config}, true, "TUTTI_"},
     {false, {}, {config}, true, "TUTTI_"},
     false,
     Status::runs,
     Status::runs,
     Status::runs},
    {Fault::shm_full,
     "shm_full",
     "/dev/shm is nearly full",
     {true, kAnyInSetup, kAnyInSetup, false},
     {true, kAnyInSetup, kAnyInSetup, false},
     false,
     Status::runs,
     Status::open,
     Status::open},
    {Fault::memory, "memory", "the culprit's address space is limited (RLIMIT_AS)", kBesideShort, kShort, false,
     Status::runs, Status::open, Status::open},
    {Fault::allocation, "allocation", "one allocation of the culprit throws std::bad_alloc inside the library",
     kBesideShort, kShort, false, Status::runs, Status::open, Status::open},
    {Fault::system_call, "system_call", "one system call of the culprit fails or is interrupted", kBesideShort, kShort,
     false, Status::runs, Status::open, Status::open},
}};

}  // namespace

std::span<const FaultRow> fault_rows() noexcept { return kRows; }

const FaultRow& row_of(Fault fault) noexcept { return kRows[static_cast<std::size_t>(fault)]; }

std::optional<Fault> parse_fault(std::string_view name) noexcept {
  const auto row = std::ranges::find(kRows, name, &FaultRow::name);
  return row == kRows.end() ? std::nullopt : std::optional(row->fault);
}

Status status_on(const FaultRow& row, std::string_view backend) noexcept {
  if (backend.starts_with("mpi")) return row.mpi;
  if (backend.starts_with("ccl")) return row.ccl;
  return row.native;
}

}  // namespace tutti::test::campaign
