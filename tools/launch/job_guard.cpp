#include "launch/job_guard.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "command_line.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;

// A job inside a job adds its own mark to the inherited one. Not TUTTI_...: those are the settings of the library.
constexpr const char* kMarkVariable = "_TUTTI_RUN";

// Bounds the search for processes that are started while their parents are being killed.
constexpr auto kMarkedPatience = std::chrono::seconds(5);

struct GuardedGroup {
  pid_t group = 0;
  std::chrono::milliseconds patience{};
};

void end_group(const GuardedGroup& guarded) {
  const auto deadline = Clock::now() + guarded.patience;
  while (kill(-guarded.group, 0) == 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(-guarded.group, SIGKILL);
}

bool has_mark(const std::string& process, const std::string& mark) {
  std::ifstream file("/proc/" + process + "/environ", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.find(mark) != std::string::npos;
}

/// Kills the processes that have the mark; returns their number. The descriptor keeps the number of a process from
/// being used by another process between the check and the signal.
int kill_marked(const std::string& mark) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), &closedir);
  int killed = 0;
  while (const dirent* entry = processes ? readdir(processes.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t process = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (failure != std::errc{} || end != name.data() + name.size() || process == getpid()) continue;
    const spi::FileDescriptor held(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (!held || !has_mark(std::string(name), mark)) continue;
    if (syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0) == 0) ++killed;
  }
  return killed;
}

/// The guard itself. Its input ends when `tutti run` has died, since that process ends the guard in all other cases.
int guard(std::istream& input) {
  // A terminal's or batch system's signals to all processes of this user must not end the guard before the job.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  std::string mark;
  std::vector<GuardedGroup> groups;
  std::string word;
  while (input >> word) {
    if (word == "mark") {
      input >> mark;
    } else {
      GuardedGroup guarded;
      long patience = 0;
      input >> guarded.group >> patience;
      guarded.patience = std::chrono::milliseconds(patience);
      if (input && guarded.group > 1) groups.push_back(guarded);
    }
  }
  for (const GuardedGroup& guarded : groups) end_group(guarded);
  if (mark.empty()) return 0;
  // A process may start another one just before it is killed: look again until a round finds none.
  const auto deadline = Clock::now() + kMarkedPatience;
  while (kill_marked(mark) > 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}

}  // namespace

JobGuard::JobGuard(ProcessEnvironment& environment) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(ErrorCode::system, concat("cannot create a socket pair: ", std::strerror(errno)));
  }
  connection_ = spi::FileDescriptor(ends[0]);
  const spi::FileDescriptor input(ends[1]);
  const spi::FileDescriptor null_device(open("/dev/null", O_WRONLY | O_CLOEXEC));
  // The guard must outlive this process, and its environment must not have the mark.
  // By this name the executable is found even if its file was replaced meanwhile.
  (void)spawn({.program = "/proc/self/exe",
               .arguments = {own_program(), "guard"},
               .environment = ProcessEnvironment().list(),
               .input = input.get(),
               .output = null_device.get(),
               .error = null_device.get(),
               .death_signal = 0});
  const std::string mark = make_secret().substr(0, 32);
  const std::string outer = environment.get(kMarkVariable);
  environment.set(kMarkVariable, outer.empty() ? mark : outer + "," + mark);
  send(concat("mark ", mark, '\n'));
}

void JobGuard::add(pid_t group, std::chrono::milliseconds patience) {
  send(concat("group ", group, ' ', patience.count(), '\n'));
}

void JobGuard::send(const std::string& line) const {
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t count = ::send(connection_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // somebody has killed the guard; the job does not depend on it
    left.remove_prefix(static_cast<std::size_t>(count));
  }
}

void add_guard_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_internal_command(tutti, "guard");
  command.callback([&invocation] { invocation.exit_code = guard(std::cin); });
}

}  // namespace tutti::tools
