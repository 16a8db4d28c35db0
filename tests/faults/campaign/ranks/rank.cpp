#include "faults/campaign/ranks/rank.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "faults/campaign/fault/failing_calls.hpp"
#include "faults/campaign/fault/injection.hpp"
#include "faults/campaign/ranks/rank_report.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test::campaign {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const RankReport* the_report = nullptr;

/// Signals that end a rank are noted before they do so: a rank under a launcher has no other witness.
void on_deadly_signal(int signal) {
  the_report->line("signal", signal);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// The campaign asks a rank that hangs for its stack.
void on_stack_request(int) {
  the_report->line("stack");
  std::array<void*, 48> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), count, the_report->descriptor());
}

void on_terminate() {
  const char* what = "no exception";
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "an exception of another type";
  }
  the_report->line("terminate", what);
  std::abort();
}

/// Libraries bring their own handlers, so this is repeated after the set-up.
void install_handlers() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM}) std::signal(signal, on_deadly_signal);
  std::signal(SIGUSR2, on_stack_request);
  std::set_terminate(on_terminate);
}

int rank_from_environment() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return -1;
}

/// Names of the threads of this process. The thread of the job's store belongs to the process, not to a communicator.
std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "tutti-store") names.push_back(name);
  }
  return names;
}

/// Threads that are ending get a while: a joined thread is visible for a moment.
void report_threads(const RankReport& report, std::size_t before) {
  const Clock::time_point deadline = Clock::now() + 2s;
  while (thread_names().size() > before && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
  std::string left;
  const std::vector<std::string> names = thread_names();
  for (const std::string& name : names) left += (left.empty() ? "" : ", ") + name;
  if (names.size() > before) report.line("threads", left);
}

class Rank {
 public:
  Rank(const RunPlan& plan, int rank, const RankReport& report, std::string folder)
      : plan_(plan), rank_(rank), report_(report), injection_(plan, report, std::move(folder)) {}

  /// True if the whole workload was carried out. The communicators are destroyed when it returns or throws.
  bool run() {
    Communicator world;
    Communicator second;
    try {
      make_communicators(world, second);
      install_handlers();
      report_.line("world", world.backend());
      carry_out(world, second);
      return true;
    } catch (const Error& error) {
      report(error);
    } catch (const std::exception& error) {
      report_.line("foreign", error.what());
    }
    if (plan_.lingers) std::this_thread::sleep_for(200ms);
    report_.line("leaving");
    return false;
  }

 private:
  [[nodiscard]] bool is_culprit() const { return rank_ == plan_.culprit; }

  void make_communicators(Communicator& world, Communicator& second) {
    if (is_culprit()) injection_.before_setup();
    const FailingScope scope;
    world = tutti::world();
    if (plan_.second == Second::duplicate) second = world.duplicate("second");
    const int color = plan_.second == Second::parity ? rank_ % 2 : 2 * rank_ < plan_.ranks ? 0 : 1;
    if (plan_.second == Second::parity || plan_.second == Second::halves) second = world.split(color, 0, "second");
    is_set_up_ = true;
  }

  void carry_out(const Communicator& world, const Communicator& second) {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      on_second_ = step.on_second;
      const Communicator& comm = step.on_second ? second : world;
      Case call = step.call;
      const bool fires = is_culprit() && i == plan_.at;
      if (fires) {
        injection_.at_step(comm);
        call = injection_.disturbed(call);
      }
      report_.line("op", std::to_string(i) + (step.on_second ? " second " : " world ") + describe(call));
      Report results;
      run_call(comm, call, results);
      if (results.failures() != 0 && !(fires && is_mismatch(plan_.id.fault))) report_.line("wrong", results.text());
    }
    on_second_ = false;
    report_.line("op", "last world barrier");
    {
      const FailingScope scope;
      world.barrier();
    }
    report_.line("complete");
  }

  /// As run_case(), with the scope of failing calls around the library only.
  static void run_call(const Communicator& comm, const Case& call, Report& results) {
    if (is_message(call.kind)) {
      if (comm.size() == 1) return;
      Case to = call;
      Case from = call;
      to.kind = OpKind::send;
      from.kind = OpKind::recv;
      PreparedCase send(comm, to);
      PreparedCase recv(comm, from);
      {
        const FailingScope scope;
        GroupScope group;  // comm.group() takes a std::function, whose memory is the caller's
        (void)send.start(comm, false);
        (void)recv.start(comm, false);
        group.end().wait();
      }
      send.check(results);
      recv.check(results);
      return;
    }
    PreparedCase prepared(comm, call);
    {
      const FailingScope scope;
      prepared.start(comm, call.seed % 4 == 0).wait();
    }
    prepared.check(results);
  }

  void report(const Error& error) const {
    std::string members;
    for (int rank = 0; rank < plan_.ranks && !on_second_; ++rank) members += std::to_string(rank) + ",";
    if (on_second_) {
      for (const int rank : members_of_second(plan_, rank_)) members += std::to_string(rank) + ",";
    }
    report_.line("error", std::string(name(error.code())) + (is_set_up_ ? " operation " : " setup ") + members + " " +
                              error.what());
  }

  const RunPlan& plan_;
  int rank_;
  const RankReport& report_;
  Injection injection_;
  bool is_set_up_ = false;
  bool on_second_ = false;
};

}  // namespace

int run_rank(const RunPlan& plan, const char* folder) {
  const int rank = rank_from_environment();
  const RankReport report((std::string(folder) + "/rank-" + std::to_string(rank)).c_str());
  the_report = &report;
  report.line("start", getpid());
  install_handlers();
  // The last resort if the campaign itself is gone; the default action of the signal ends the process.
  alarm(static_cast<unsigned>(kMostDeadlines * plan.deadline / 1s) + 20);
  std::array<void*, 1> frames;
  (void)backtrace(frames.data(), 1);  // loads the unwinder now, not in a signal handler
  const std::size_t threads = thread_names().size();
  bool complete = false;
  try {
    complete = Rank(plan, rank, report, folder).run();
  } catch (const CulpritThrows&) {
    report.line("unwound");
  }
  report.line("destroyed");
  report_threads(report, threads);
  report.line("allocations", static_cast<std::int64_t>(counted_allocations()));
  if (has_failed_a_call()) report.line("injected");
  report.line("end", complete ? "complete" : "failed");
  return complete ? 0 : 1;
}

}  // namespace tutti::test::campaign
