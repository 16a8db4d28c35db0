#include "launch/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "text/text.hpp"
#include "tutti/error.hpp"

extern char** environ;

namespace tutti::tools {
namespace {

Error system_error(const std::string& what) {
  return Error(ErrorCode::system, concat(what, ": ", std::strerror(errno)));
}

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

ProgramError cannot_execute(const std::string& name, int problem) {
  return {problem == ENOENT ? 127 : 126, concat("cannot execute ", name, ": ", std::strerror(problem))};
}

// Runs between fork and exec: only async-signal-safe calls, because the parent may have threads.
[[noreturn]] void become(const ProcessSpec& spec, char* const* arguments, char* const* environment, pid_t parent,
                         int null_device, int failure) {
  if (spec.own_group) setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, spec.death_signal);
  // The parent may have died before the line above.
  if (getppid() != parent) _exit(127);
  signal(SIGPIPE, SIG_DFL);  // ignored by this process itself
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    struct sigaction action {};
    const bool is_ignored = sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!spec.keeps_ignored_signals || !is_ignored) signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(spec.input >= 0 ? spec.input : null_device, STDIN_FILENO);
  if (spec.output >= 0) dup2(spec.output, STDOUT_FILENO);
  if (spec.error >= 0) dup2(spec.error, STDERR_FILENO);
  execve(spec.program.c_str(), arguments, environment);
  const int problem = errno;
  [[maybe_unused]] const ssize_t written = write(failure, &problem, sizeof problem);
  _exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) throw ProgramError(127, "the name of the program is empty");
  std::string refused;
  const auto usable = [&](const std::string& path) {
    if (!is_file(path)) return false;
    if (access(path.c_str(), X_OK) == 0) return true;
    refused = path;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    if (usable(name)) return name;
    struct stat status {};
    if (refused.empty() && stat(name.c_str(), &status) == 0) {
      throw ProgramError(126, concat("cannot execute ", name, ": it is not a regular file"));
    }
  } else {
    for (const std::string& folder : split(ProcessEnvironment().get("PATH"), ':')) {
      std::string path = (folder.empty() ? "." : folder) + "/" + name;
      if (usable(path)) return path;
    }
  }
  if (!refused.empty())
    throw ProgramError(126, concat("cannot execute ", refused, ": it is not executable; try chmod +x"));
  if (name.find('/') == std::string::npos && is_file(name)) {
    throw ProgramError(127, concat("program ", name, " is not in PATH; did you mean ./", name, "?"));
  }
  throw ProgramError(127,
                     concat("program ", name, " not found", name.find('/') == std::string::npos ? " in PATH" : ""));
}

std::string own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length < 0) throw system_error("cannot read the link /proc/self/exe");
  return {path.data(), static_cast<std::size_t>(length)};
}

ProcessEnvironment::ProcessEnvironment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables_.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
}

std::string ProcessEnvironment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::string() : found->second;
}

void ProcessEnvironment::unset_prefix(std::string_view prefix) {
  std::erase_if(variables_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

void ProcessEnvironment::prepend_path(const std::string& name, const std::string& value) {
  const std::string before = get(name);
  set(name, before.empty() ? value : value + ":" + before);
}

std::vector<std::string> ProcessEnvironment::list() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : variables_) result.push_back(concat(name, '=', value));
  return result;
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
  return {spi::FileDescriptor(ends[0]), spi::FileDescriptor(ends[1])};
}

pid_t spawn(const ProcessSpec& spec) {
  const spi::FileDescriptor null_device(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe failure = make_pipe();
  const std::vector<char*> arguments = pointers(spec.arguments);
  const std::vector<char*> environment = pointers(spec.environment);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw system_error("cannot start a process (fork)");
  if (child == 0) {
    become(spec, arguments.data(), environment.data(), parent, null_device.get(), failure.write.get());
  }
  // Set by parent and child, so that the group exists when spawn() returns, whichever runs first.
  if (spec.own_group) setpgid(child, child);
  failure.write.reset();
  int problem = 0;
  if (read(failure.read.get(), &problem, sizeof problem) == sizeof problem) {
    waitpid(child, nullptr, 0);
    throw cannot_execute(spec.program, problem);
  }
  return child;
}

namespace {

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::ifstream list(concat("/proc/", process, "/task/", process, "/children"));
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

// Process groups that this process has not started: its own, in which it starts nothing, and those of the children it
// inherited. Groups rather than processes, so that orphans of these children are recognised too.
const std::set<pid_t>& foreign_groups() {
  static const std::set<pid_t> groups = [] {
    std::set<pid_t> found = {getpgrp()};
    for (const pid_t child : children_of(getpid())) found.insert(getpgid(child));
    return found;
  }();
  return groups;
}

}  // namespace

void adopt_orphans() {
  (void)foreign_groups();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<pid_t> end_descendants(std::chrono::nanoseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // A killed process leaves its children to this one (adopt_orphans), so that a few rounds reach all descendants.
  for (;;) {
    std::vector<pid_t> children = children_of(getpid());
    std::erase_if(children, [](pid_t child) { return foreign_groups().contains(getpgid(child)); });
    for (const pid_t child : children) kill(child, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (children.empty() || std::chrono::steady_clock::now() >= deadline) return children;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::optional<int> status_of_ended(pid_t child) {
  siginfo_t info{};
  const auto number = static_cast<id_t>(child);
  if (waitid(P_PID, number, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != child) return std::nullopt;
  if (info.si_code == CLD_EXITED) return W_EXITCODE(info.si_status, 0);
  return info.si_status | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

void reap_orphans(const std::set<pid_t>& kept) {
  for (const pid_t child : children_of(getpid())) {
    if (!kept.contains(child)) waitpid(child, nullptr, WNOHANG);
  }
}

std::string output_of(const std::string& program, std::span<const std::string> arguments,
                      const ProcessEnvironment& environment, int seconds) {
  Pipe output = make_pipe();
  ProcessSpec spec{.program = program, .arguments = {program}, .environment = environment.list()};
  spec.arguments.insert(spec.arguments.end(), arguments.begin(), arguments.end());
  spec.output = spec.error = output.write.get();
  const pid_t child = spawn(spec);
  output.write.reset();
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    pollfd ready{output.read.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left)) <= 0) continue;  // timed out, or interrupted by a signal
    std::array<char, 4096> bytes{};
    const ssize_t count = read(output.read.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  // The program has closed its output or is late; either way it must not stay.
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::chrono::steady_clock::now() >= deadline || status != 0 ? std::string() : text;
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string describe_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "was ended by " + describe_signal(WTERMSIG(wait_status));
  return concat("exited with code ", WEXITSTATUS(wait_status));
}

}  // namespace tutti::tools
