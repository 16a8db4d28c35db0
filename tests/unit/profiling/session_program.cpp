// A program that is recorded: session_program SCENARIO [ARGUMENT...]. The tests know what each scenario records.
#include "session_program.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace tutti;
using profiling::Kind;
using profiling::Record;

int number(char** arguments, int at) { return arguments[at] == nullptr ? 0 : std::atoi(arguments[at]); }

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void record_calls(const std::string& name, int calls, Kind kind = Kind::host) {
  const profiling::NameId id = profiling::intern(name);
  for (int i = 0; i < calls; ++i) {
    const auto begin = static_cast<std::uint64_t>(i) * 100;
    profiling::record({.kind = kind, .name = id, .begin_ns = begin, .end_ns = begin + 10});
  }
}

void record_randomly(std::uint64_t seed, int records) {
  test::RandomRecords random(seed);
  const profiling::SourceId source = profiling::add_source("BACKEND_TEST", 42);
  for (int i = 0; i < records; ++i) {
    const auto choice = random.next();
    const bool duration = choice.kind < 2 || choice.kind >= 5;
    profiling::record({.kind = static_cast<Kind>(choice.kind),
                       .source = source,
                       .name = profiling::intern("call " + std::to_string(choice.name)),
                       .context = profiling::add_context({.operation = "allreduce", .bytes = choice.context * 8U}),
                       .error = choice.failed ? -7 : 0,
                       .begin_ns = choice.begin,
                       .end_ns = choice.begin + (duration ? choice.value : 0),
                       .bytes = duration ? 3 : choice.value,
                       .sequence = static_cast<std::uint64_t>(i)});
  }
}

// random SEED THREADS RECORDS: each thread records with a seed of its own; all live at the same time.
int random_records(char** arguments) {
  const int seed = number(arguments, 0);
  const int count = number(arguments, 1);
  std::barrier<> all(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      record_randomly(static_cast<std::uint64_t>(seed + i), number(arguments, 2));
      all.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// calls NAME CALLS: host calls of one name.
int calls(char** arguments) {
  record_calls(arguments[0], number(arguments, 1));
  return 0;
}

// operations COUNT
int operations(char** arguments) {
  record_calls("operation", number(arguments, 0), Kind::operation);
  return 0;
}

// names COUNT: one call of each of so many functions.
int names(char** arguments) {
  for (int i = 0; i < number(arguments, 0); ++i) record_calls("function " + std::to_string(i), 1);
  return 0;
}

// threads COUNT: one call in each of so many threads, one after the other.
int threads_in_turn(char** arguments) {
  for (int i = 0; i < number(arguments, 0); ++i) std::thread([] { record_calls("call", 1); }).join();
  return 0;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// fork: the parent records 3 + 2 calls, its child 5 in two threads, the child's child 7, a child that records none.
int fork_children(char**) {
  record_calls("parent", 3);
  const pid_t child = fork();
  if (child == 0) {
    record_calls("child", 4);
    std::thread([] { record_calls("child", 1); }).join();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      record_calls("grandchild", 7);
      _exit(0);
    }
    std::exit(wait_for(grandchild));
  }
  const pid_t silent = fork();
  if (silent == 0) std::exit(0);
  const int result = wait_for(child) + wait_for(silent);
  record_calls("parent", 2);
  return result;
}

// clone: as fork, by a system call that no handler hears of.
int clone_child(char**) {
  record_calls("parent", 3);
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    record_calls("child", 5);
    _exit(0);
  }
  return wait_for(child);
}

// fork_storm COUNT: forks while other threads make new names and blocks.
int fork_storm(char** arguments) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int at = 0; !stop; ++at) record_calls("name " + std::to_string(i) + "." + std::to_string(at % 500), 1);
    });
  }
  int result = 0;
  for (int i = 0; i < number(arguments, 0); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      record_calls("child", 5);
      _exit(0);
    }
    result += wait_for(child);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return result;
}

// exec PROGRAM: records 4 calls, then becomes this program with 6 calls.
int exec_again(char** arguments) {
  record_calls("before", 4);
  execl(arguments[0], arguments[0], "calls", "after", "6", nullptr);
  return 1;
}

// end HOW: records 100 operations and ends.
int end(char** arguments) {
  record_calls("operation", 100, Kind::operation);
  const std::string how = arguments[0];
  if (how == "_exit") _exit(3);
  if (how == "quick_exit") std::quick_exit(3);
  if (how == "abort") std::abort();
  if (how == "thread") std::thread([] { std::exit(3); }).detach();
  if (how == "wait") say("recorded");
  for (;;) pause();
}

// regions: 1 call outside, 2 in "step", 3 in "step" > "inner", 4 in "step" again, 5 far beyond the deepest.
int regions(char**) {
  record_calls("call", 1);
  {
    const profiling::Region step("step");
    record_calls("call", 2);
    {
      const profiling::Region inner("inner");
      record_calls("call", 3);
    }
    record_calls("call", 4);
    for (int i = 0; i < 100; ++i) profiling::begin_region("deep " + std::to_string(i));
    record_calls("call", 5);
    for (int i = 0; i < 100; ++i) profiling::end_region();
    record_calls("call", 6);
  }
  profiling::end_region();
  record_calls("call", 7);
  return 0;
}

// contexts COUNT: an operation of each of so many sizes, each with a label of its own.
int contexts(char** arguments) {
  const profiling::NameId name = profiling::intern("allreduce");
  for (int i = 0; i < number(arguments, 0); ++i) {
    const std::string label = "gradient " + std::to_string(i);
    const profiling::ContextId context = profiling::add_context(
        {.operation = "allreduce", .label = label, .bytes = static_cast<std::uint64_t>(i) + 1, .ranks = 2});
    profiling::record({.kind = Kind::operation, .name = name, .context = context, .begin_ns = 1, .end_ns = 2});
  }
  return 0;
}

// balance THREADS: all threads hold 1000 bytes at once, release them, and then take 10 each in turn; half of the
// threads release 5 of a device as well.
int balance(char** arguments) {
  const int count = number(arguments, 0);
  const profiling::NameId owner = profiling::intern("owner");
  const profiling::DeviceId device = profiling::add_device({.name = "board", .device = 7});
  std::barrier<> all(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      profiling::record({.kind = Kind::allocation, .name = owner, .bytes = 1000});
      all.arrive_and_wait();
      profiling::record({.kind = Kind::release, .name = owner, .bytes = 1000});
      all.arrive_and_wait();
      profiling::record({.kind = Kind::allocation, .name = owner, .bytes = 10});
      profiling::record({.kind = Kind::allocation, .name = owner, .error = 1, .bytes = 1'000'000});
      profiling::record({.kind = Kind::allocation, .name = owner, .device = device, .bytes = 5});
      if (i % 2 == 0) profiling::record({.kind = Kind::release, .name = owner, .device = device, .bytes = 5});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

std::atomic<int> signals{0};
void record_in_handler(int) {
  ++signals;
  record_calls("handler", 1);
}

// signals COUNT: records calls while a signal handler interrupts and records as well; prints the handler's number.
int signal_records(char** arguments) {
  struct sigaction action = {};
  action.sa_handler = record_in_handler;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{.it_interval = {0, 50}, .it_value = {0, 50}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < number(arguments, 0); ++i) record_calls("call " + std::to_string(i % 700), 1);
  setitimer(ITIMER_REAL, &never, nullptr);
  say(std::to_string(signals));
  return 0;
}

// ranks: MPI has told the rank 3 of 8 after a first call; 2 calls follow.
int late_rank(char**) {
  record_calls("early", 1);
  profiling::set_rank(3, 8);
  profiling::set_rank(4, 9);
  record_calls("late", 2);
  return 0;
}

// pauses: calls between stop() and start() do not count; prints the state after each.
int pauses(char**) {
  say(profiling::is_recording() ? "1" : "0");
  record_calls("call", 1);
  profiling::stop();
  say(profiling::is_recording() ? "1" : "0");
  record_calls("call", 10);
  say(profiling::start() ? "started" : profiling::last_problem());
  record_calls("call", 100);
  tutti_profiling_stop();
  record_calls("call", 1000);
  profiling::flush();
  say(std::string("folder ") + profiling::session_folder());
  return 0;
}

// obey: records while it is told to, and says so, until it is killed.
int obey(char**) {
  int state = -1;
  for (;; usleep(1000)) {
    const int now = profiling::is_recording() ? 1 : 0;
    if (now != state) say(now == 1 ? "recording" : "stopped");
    state = now;
    if (now == 1) record_calls("call", 1);
  }
}

// flood: makes new names and calls them until it is killed or its memory is used up.
int flood(char**) {
  for (int i = 0; i < 1'000'000; ++i) {
    record_calls("function " + std::to_string(i % 5000), 1);
    if (i == 1000) say("begun");
    if (i % 1000 == 0) usleep(100);
  }
  for (;;) pause();
}

// remove COUNT: removes its session's folder after the first record.
int remove_folder(char** arguments) {
  record_calls("operation", 1, Kind::operation);
  std::filesystem::remove_all(profiling::session_folder());
  record_calls("operation", number(arguments, 0), Kind::operation);
  say(profiling::last_problem());
  return 0;
}

// problem COUNT: operations, then the last problem.
int problem(char** arguments) {
  record_calls("operation", number(arguments, 0), Kind::operation);
  say(profiling::last_problem());
  return 0;
}

// wanted: mode and sources.
int wanted(char**) {
  std::string line = std::to_string(static_cast<int>(profiling::tracing_mode()));
  for (const char* source : {"tutti", "mpi", "ze", "memory"}) {
    line += std::string(" ") + source + (profiling::source_wanted(source) ? "+" : "-");
  }
  say(line);
  return 0;
}

struct Scenario {
  const char* name;
  int (*run)(char** arguments);
};
constexpr Scenario kScenarios[] = {{"random", random_records},
                                   {"calls", calls},
                                   {"operations", operations},
                                   {"names", names},
                                   {"threads", threads_in_turn},
                                   {"fork", fork_children},
                                   {"clone", clone_child},
                                   {"fork_storm", fork_storm},
                                   {"exec", exec_again},
                                   {"end", end},
                                   {"regions", regions},
                                   {"contexts", contexts},
                                   {"balance", balance},
                                   {"signals", signal_records},
                                   {"rank", late_rank},
                                   {"pauses", pauses},
                                   {"obey", obey},
                                   {"flood", flood},
                                   {"remove", remove_folder},
                                   {"problem", problem},
                                   {"wanted", wanted}};

}  // namespace

int main(int count, char** arguments) {
  for (const Scenario& scenario : kScenarios) {
    if (count > 1 && std::strcmp(arguments[1], scenario.name) == 0) return scenario.run(arguments + 2);
  }
  std::fprintf(stderr, "usage: session_program SCENARIO [ARGUMENT...]\n");
  return 2;
}
