#include "faults/campaign/fault/injection.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "faults/campaign/fault/failing_calls.hpp"

namespace tutti::test::campaign {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

bool is_in_setup(const RunPlan& plan) { return variant_name(plan) == "in_setup"; }

}  // namespace

Injection::~Injection() {
  if (timer_.joinable()) timer_.join();
}

void Injection::after_delay(std::function<void()> action) {
  timer_ = std::thread([this, action = std::move(action)] {
    std::this_thread::sleep_for(plan_.after);
    action();
  });
}

void Injection::die() {
  const std::string how = plan_.id.fault == Fault::kill ? variant_name(plan_) : "SIGKILL";
  report_.line("fault", how);
  const int signal = how == "SIGABRT" ? SIGABRT : how == "SIGSEGV" ? SIGSEGV : SIGKILL;
  std::signal(signal, SIG_DFL);
  kill(getpid(), signal);
  // A signal to the process may be delivered to another thread a moment later.
  for (;;) pause();
}

void Injection::set_variable() {
  const std::string name = variant_name(plan_);
  if (plan_.id.fault == Fault::bad_variable) {
    setenv(name.c_str(), "banana", 1);
  } else {
    setenv(name.c_str(), name == "TUTTI_TIMEOUT" ? "77s" : "1", 1);
  }
  report_.line("fault", name);
}

void Injection::before_setup() {
  const std::uint64_t detail = plan_.detail;
  switch (plan_.id.fault) {
    case Fault::kill_setup:
      after_delay([this] { die(); });
      break;
    case Fault::bad_variable:
    case Fault::settings:
      set_variable();
      break;
    case Fault::memory:
      if (!is_in_setup(plan_)) break;
      report_.line("fault", "memory in set-up");
      limit_memory(1 + detail % (16u << 20));
      break;
    case Fault::allocation:
      if (!is_in_setup(plan_)) break;
      report_.line("fault", "allocation in set-up");
      // Early allocations are rarer than late ones in proportion to the code that makes them.
      fail_allocation(1 + (detail % 4096 >> detail / 4096 % 8));
      break;
    case Fault::system_call:
      if (!is_in_setup(plan_)) break;
      report_.line("fault", fail_system_call(detail, detail / 64 % 4 == 0 ? 1 + detail / 256 % 8 : 1));
      break;
    case Fault::absent:
      report_.line("fault", "absent");
      wait_for_others();
      report_.line("end");
      std::_Exit(0);
    default:
      break;
  }
}

void Injection::fire(const Communicator& comm) {
  switch (plan_.id.fault) {
    case Fault::kill:
      die();
      break;
    case Fault::exit:
      report_.line("fault", variant_name(plan_));
      if (variant_name(plan_) == "_exit") _exit(0);
      std::exit(0);
    case Fault::stop:
      report_.line("fault", "stop");
      kill(getpid(), SIGSTOP);
      break;
    case Fault::abort:
      report_.line("fault", "abort");
      comm.abort();
      break;
    default:
      break;
  }
}

void Injection::at_step(const Communicator& comm) {
  switch (plan_.id.fault) {
    case Fault::kill:
    case Fault::stop:
    case Fault::abort:
      if (plan_.during) {
        after_delay([this, comm] { fire(comm); });
        break;
      }
      [[fallthrough]];
    case Fault::exit:
      fire(comm);
      break;
    case Fault::throws:
      report_.line("fault", "throw");
      throw CulpritThrows();
    case Fault::mismatch:
    case Fault::mismatch_rooted:
      report_.line("fault", variant_name(plan_));
      break;
    case Fault::late:
      report_.line("fault", "late");
      wait_for_others();
      break;
    case Fault::fork:
      fork_child(comm);
      break;
    case Fault::memory:
      if (is_in_setup(plan_)) break;
      report_.line("fault", "memory");
      limit_memory(1 + plan_.detail % (1u << 20));
      break;
    case Fault::allocation:
      if (is_in_setup(plan_)) break;
      report_.line("fault", "allocation");
      fail_allocation(1 + plan_.detail % 12);
      break;
    case Fault::system_call:
      if (is_in_setup(plan_)) break;
      report_.line("fault", fail_system_call(plan_.detail, 1));
      break;
    default:
      break;
  }
}

Case Injection::disturbed(Case call) const {
  if (!is_mismatch(plan_.id.fault)) return call;
  const std::string how = variant_name(plan_);
  if (how == "count") ++call.count;
  if (how == "type") call.type = DataType::float32;
  if (how == "op") call.reduction = Reduction::max;
  if (how == "root") call.root = (call.root + 1) % plan_.ranks;
  // The calls of two steps in another order: here comes one that the others make later.
  if (how == "order") call.kind = call.kind == OpKind::allgather ? OpKind::alltoall : OpKind::allgather;
  call.in_place = call.in_place && has_in_place(call.kind);
  return call;
}

void Injection::fork_child(const Communicator& comm) {
  report_.line("fault", variant_name(plan_));
  const std::string how = variant_name(plan_);
  const pid_t child = fork();
  if (child == 0) {
    if (how == "child_execs") {
      execl("/bin/true", "true", nullptr);
      _exit(127);
    }
    if (how == "child_exits") std::exit(0);
    try {
      comm.barrier();
      report_.line("child", "accepted");
    } catch (const Error& error) {
      report_.line("child", error.code() == ErrorCode::invalid_usage ? "refused" : error.what());
    }
    std::exit(0);
  }
  const Clock::time_point deadline = Clock::now() + 5s;
  int status = 0;
  while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) {
      report_.line("child", "hangs");
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(1ms);
  }
  if (child < 0 || status != 0) report_.line("child", "failed with wait status " + std::to_string(status));
}

void Injection::wait_for_others() const {
  const Clock::time_point deadline = Clock::now() + plan_.deadline * 3 / 4;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (rank == plan_.culprit) continue;
    const std::string path = folder_ + "/rank-" + std::to_string(rank);
    while (Clock::now() < deadline) {
      const RankTrace trace(path);
      if (trace.find("error") != nullptr || trace.find("end") != nullptr) break;
      std::this_thread::sleep_for(10ms);
    }
  }
}

}  // namespace tutti::test::campaign
