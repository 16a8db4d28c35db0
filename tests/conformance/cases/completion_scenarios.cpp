#include "conformance/cases/completion_scenarios.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "conformance/cases/case.hpp"
#include "conformance/cases/plan.hpp"
#include "tutti/error.hpp"

namespace tutti::test {

using namespace std::chrono_literals;

void async_in_flight(const Communicator& comm, std::uint64_t seed, Report& report) {
  Random random(seed);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::unique_ptr<PreparedCase>> cases;
    std::vector<Work> works;
    for (int i = 0; i < 6; ++i) {
      Case c = random_case(random, comm.size(), 20'000);
      // A receive without its send would wait for ever.
      if (c.kind == OpKind::recv) c.kind = OpKind::broadcast;
      cases.push_back(std::make_unique<PreparedCase>(comm, c));
      works.push_back(cases.back()->start(comm, true));
    }
    if (round % 3 == 0) {
      for (std::size_t i = works.size(); i-- > 0;) works[i].wait();
    } else if (round % 3 == 1) {
      for (Work& work : works) {
        while (!work.ready()) std::this_thread::yield();
        work.wait();
      }
    } else {
      // The destructors wait; the blocking barrier before that must neither overtake the operations nor get lost.
      comm.barrier();
      works.clear();
    }
    for (const auto& c : cases) c->check(report);
  }
}

void waits_in_between(const Communicator& comm, std::uint64_t, Report& report) {
  constexpr std::uint64_t kSizes[] = {3, 50'021};
  for (int round = 0; round < 8; ++round) {
    // A composite carries out short and long messages by different backends.
    std::vector<float> pending(kSizes[round / 2 % 2], 1.0F);
    std::vector<float> blocking(kSizes[(round / 2 + 1) % 2], 2.0F);
    Work work = comm.allreduce(pending, {.async = true});
    const bool is_first = (comm.rank() + round) % 2 == 0;
    if (is_first) {
      work.wait();
      work = {};
    }
    comm.allreduce(blocking);
    if (!is_first) work.wait();
    report.count_check();
    const auto ranks = static_cast<float>(comm.size());
    report.expect(pending == std::vector<float>(pending.size(), ranks) &&
                      blocking == std::vector<float>(blocking.size(), 2 * ranks),
                  "allreduces that ranks waited for in different order gave a wrong result");
  }
}

void waits_for(const Communicator& comm, std::uint64_t, Report& report) {
  const Communicator signal = comm.duplicate("signal");
  // An emulated operation may do all but its last step before the call returns, so this uses a float32 sum, which every
  // backend has.
  std::vector<float> data(1009, 1.0F);
  const bool last = comm.rank() == comm.size() - 1;
  std::optional<Work> pending;
  if (!last) {
    Work& work = pending.emplace(comm.allreduce(data, {.async = true}));
    report.count_check();
    // The last rank starts only after the signal below, so the operation cannot have completed.
    report.expect(!work.ready(), "ready() is true before all ranks have started the operation");
    report.expect(!work.wait_for(20ms), "wait_for() returned true before all ranks have started the operation");
    report.expect(work.error() == nullptr, "a pending operation has an error");
  }
  signal.barrier();
  if (last) pending.emplace(comm.allreduce(data, {.async = true}));
  Work& work = *pending;
  report.expect(work.wait_for(60s), "an operation did not complete within 60 s after all ranks had started it");
  report.expect(work.ready(), "a completed operation is not ready");
  report.expect(work.error() == nullptr, "a completed operation has an error");
  work.wait();
  report.count_check();
  report.expect(data == std::vector<float>(1009, static_cast<float>(comm.size())),
                "a delayed allreduce gave a wrong result");
}

namespace {

/// Runs `call`, which has a timeout of 300 ms, on all ranks but the last, and checks its error and the error of the
/// next operation.
void expect_timeout(const Communicator& comm, Report& report, const std::function<void(const Communicator&)>& call) {
  // A communicator is unusable after a timeout, so this uses a duplicate.
  const Communicator victim = comm.duplicate("victim");
  const bool late = comm.rank() == comm.size() - 1;
  if (comm.size() > 1 && !late) {
    report.count_check();
    ErrorCode code = ErrorCode::ok;
    const auto begin = std::chrono::steady_clock::now();
    try {
      call(victim);
      report.fail("allreduce returned before the last rank had called it");
    } catch (const Error& error) {
      code = error.code();
      // The first rank that times out may abort the communicator; the others then get that error instead.
      const bool told = error.code() == ErrorCode::aborted || error.code() == ErrorCode::peer_failure;
      report.expect(error.code() == ErrorCode::timeout || told,
                    "expected a timeout, but got " + std::string(name(error.code())) + ": " + error.what());
      report.expect(std::string_view(error.what()).find("allreduce") != std::string_view::npos,
                    std::string("the timeout does not name the operation: ") + error.what());
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    // A long limit, because there may be many more ranks than cores.
    report.expect(took < 30s, "a timeout of 300 ms took " + std::to_string(milliseconds) + " ms");
    // Later operations must fail with the same code.
    try {
      victim.barrier();
      report.fail("a barrier succeeded on a communicator that had failed");
    } catch (const Error& error) {
      report.expect(error.code() == code, "the error after " + std::string(name(code)) + " is " +
                                              std::string(name(error.code())) + ": " + error.what());
    }
  }
  comm.barrier();
  if (late) {
    // The last rank calls the operation now, because a library that cannot cancel needs this call to shut down cleanly.
    // Whether the call fails depends on the backend.
    try {
      call(victim);
    } catch (const Error&) {
      report.count_check();
    }
  }
  comm.barrier();
}

/// A buffer that lives as long as the process: after a timeout the library may still write to it.
std::span<float> lasting_buffer() {
  static std::mutex mutex;
  static std::deque<std::vector<float>> buffers;
  const std::scoped_lock lock(mutex);
  return buffers.emplace_back(64);
}

}  // namespace

void times_out(const Communicator& comm, std::uint64_t, Report& report) {
  const std::span<float> data = lasting_buffer();
  expect_timeout(comm, report, [&](const Communicator& victim) { victim.allreduce(data, {.timeout = 300ms}); });
  // The timeout of a group is the shortest of its operations.
  const std::span<float> first = lasting_buffer();
  const std::span<float> last = lasting_buffer();
  expect_timeout(comm, report, [&](const Communicator& victim) {
    victim.group([&] {
      victim.allreduce(first, {.timeout = 60s});
      victim.allreduce(data, {.timeout = 300ms});
      victim.allreduce(last);
    });
  });
}

}  // namespace tutti::test
