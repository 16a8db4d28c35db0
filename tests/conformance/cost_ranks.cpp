// Counts the calls into the library and the allocations of each operation, as one rank of a job. Exits with 0 if every
// count is exactly as expected.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>

#include "conformance/cases/one_of_each.hpp"
#include "conformance/cases/report.hpp"
#include "support/allocation_counter.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/system/watchdog.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr std::uint64_t kCount = 1000;
constexpr int kCalls = 10;

bool takes_part(const Communicator& comm, OpKind kind) { return !is_message(kind) || comm.rank() < 2; }

/// A backend's library and the number of calls into it per operation.
struct Price {
  std::string_view backend;
  std::string_view library;
  std::string_view prefix;  ///< of the names of its functions
  std::uint64_t calls;
  bool allocates;  ///< the library itself allocates in every call
  bool has_all;    ///< tutti emulates no operation, see lacks()
};
// oneCCL's C++ interface returns an event for each operation; waiting for it is the second call.
constexpr Price kPrices[] = {{"native", "", "", 0, false, true},
                             {"mpi", "MPI", "MPI_", 1, false, true},
                             {"ccl", "oneCCL", "ccl::", 2, true, true}};
constexpr Price kPriceOfCclInC = {"ccl", "oneCCL", "oneccl", 1, true, false};

const Price& price_of(const Communicator& comm) {
  if (comm.backend() == "ccl" && Config().text("TUTTI_CCL_API") == "c") return kPriceOfCclInC;
  // Products of a library cost the same: "mpi:openmpi" is a backend of the row "mpi".
  const std::string name = parse_backend_spec(comm.backend()).name;
  const auto* const price = std::ranges::find(kPrices, name, &Price::backend);
  if (price == std::end(kPrices)) {
    throw std::runtime_error("the table of prices has no row for backend " + std::string(comm.backend()));
  }
  return *price;
}

// An operation that is not emulated must make exactly the expected calls and report no allocation.
void check_calls(const Communicator& comm, std::string_view what, OpKind kind, const ReduceOptions& options,
                 std::uint64_t expected, Report& report) {
  set_activity(what);
  OneOfEach calls(comm, kCount);
  calls.run(kind, options);
  comm.barrier();
  RecordingObserver recorder;
  calls.run(kind, options);
  const auto seen = recorder.calls();
  report.count_check();
  if (!takes_part(comm, kind)) expected = 0;
  // MPI accepts a message that is too short, so tutti asks for its length.
  if (is_message(kind) && comm.rank() == 1 && price_of(comm).backend == "mpi") ++expected;
  report.expect(seen.size() == expected, std::string(what) + " made " + std::to_string(seen.size()) + " calls (" +
                                             recorder.call_names() + ") instead of " + std::to_string(expected));
  const auto issued = recorder.issued();
  for (const auto& call : seen) {
    report.expect(call.library == price_of(comm).library, call.function + " is reported for library " + call.library);
    report.expect(call.function.starts_with(price_of(comm).prefix),
                  call.function + " is not a function of the library");
    report.expect(!issued.empty() && call.cause == issued[0].id, call.function + " does not name its operation");
    report.expect(call.error == 0, call.function + " is reported as failed");
  }
  report.expect(recorder.allocations().empty(), std::string(what) + " reported allocations");
}

// Heap allocations, counted by a replaced operator new.
void check_allocations(const Communicator& comm, std::string_view what, OpKind kind, const ReduceOptions& options,
                       Report& report) {
  // The count would include oneCCL's own allocations. The dispatch benchmark compares with direct calls instead.
  if (price_of(comm).allocates) return;
  set_activity(what);
  OneOfEach calls(comm, kCount);
  calls.run(kind, options);
  const std::uint64_t before = allocation_count();
  for (int i = 0; i < kCalls; ++i) calls.run(kind, options);
  const std::uint64_t made = allocation_count() - before;
  report.count_check();
  report.expect(made == 0, std::string(what) + " allocated " + std::to_string(made) + " times in " +
                               std::to_string(kCalls) + " calls");
}

// oneCCL has neither gather nor scatter, nor messages that the backend can use. The backend builds them from other
// operations with the same number of calls; with the C interface, tutti emulates gather and scatter.
bool is_built(const Communicator& comm, const OpTraits& row) {
  const bool is_rooted_move =
      !row.reduces && (row.output_root_only || (row.input_root_only && row.kind != OpKind::broadcast));
  const bool is_message = row.kind == OpKind::send || row.kind == OpKind::recv;
  return comm.backend() == "ccl" && (is_message || (is_rooted_move && price_of(comm).has_all));
}

/// Whether the library has neither the operation nor others that the backend could build it from.
bool lacks(const Communicator& comm, OpKind kind) { return comm.backend() == "ccl" && kind == OpKind::reduce_scatterv; }

void check_all(const Communicator& comm, Report& report) {
  const std::uint64_t per_operation = price_of(comm).calls;
  for (const OpTraits& row : kOpTraits) {
    const bool is_emulated = comm.explain(row.kind).emulated;
    const bool built = is_built(comm, row);
    const bool is_right =
        price_of(comm).has_all ? is_emulated == (built || lacks(comm, row.kind)) : is_emulated || !built;
    report.expect(is_right,
                  "explain() says that " + std::string(row.name) + (is_emulated ? " is" : " is not") + " emulated");
    if (is_emulated && !built) continue;
    check_calls(comm, row.name, row.kind, {}, per_operation, report);
    check_allocations(comm, row.name, row.kind, {}, report);
  }
  for (const OpKind kind : {OpKind::allreduce, OpKind::reduce}) {
    // An average is a sum that is divided in place afterwards: the same number of calls and no allocation.
    const std::string average = std::string(name(kind)) + "(average)";
    check_calls(comm, average, kind, {.op = Reduction::average}, per_operation, report);
    check_allocations(comm, average, kind, {.op = Reduction::average}, report);
    check_calls(comm, std::string(name(kind)) + "(max)", kind, {.op = Reduction::max}, per_operation, report);
  }
}

}  // namespace

int main() {
  arm_watchdog(60);
  Report report;
  Communicator comm;
  try {
    comm = world();
    check_all(comm, report);
    comm.barrier();
    std::fputs(report.text().c_str(), stderr);
    if (comm.rank() == 0) {
      std::printf("cost: %d ranks on %s, %llu checks\n", comm.size(), std::string(comm.backend()).c_str(),
                  static_cast<unsigned long long>(report.checks()));
    }
    return report.failures() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s%s\n", report.text().c_str(), error.what());
    std::fflush(nullptr);
    if (comm) comm.abort();
    return 1;
  }
}
