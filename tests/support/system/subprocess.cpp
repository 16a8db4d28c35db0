#include "support/system/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tutti::test {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> rows;
  for (char** row = environ; *row != nullptr; ++row) {
    const std::string text = *row;
    if (!changes.contains(text.substr(0, text.find('=')))) rows.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) rows.push_back(name + "=" + value);
  }
  return rows;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  // Everything that the child needs is built before the fork: the child may call only async-signal-safe functions.
  std::vector<std::string> arguments = command;
  std::vector<std::string> rows = merged_environment(environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(rows);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    const char* reason = strerrordesc_np(errno);
    (void)!write(STDERR_FILENO, reason, std::strlen(reason));
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(ends[1]);
  pipe_ = ends[0];
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      output_(std::move(other.output_)),
      status_(other.status_) {}

Subprocess::~Subprocess() {
  if (pid_ > 0 && !status_) {
    ::kill(-pid_, SIGKILL);
    (void)reap(true);
  }
  if (pipe_ >= 0) close(pipe_);
}

void Subprocess::kill(int signal) const noexcept {
  if (pid_ > 0 && !status_) ::kill(pid_, signal);
}

bool Subprocess::reap(bool block) {
  if (status_) return true;
  int status = 0;
  if (waitpid(pid_, &status, block ? 0 : WNOHANG) != pid_) return false;
  status_ = ExitStatus{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), Clock::now()};
  return true;
}

bool Subprocess::read_some(Clock::time_point deadline) {
  pollfd entry{pipe_, POLLIN, 0};
  if (poll(&entry, 1, milliseconds_until(deadline)) <= 0) return true;
  char buffer[4096];
  const ssize_t bytes = read(pipe_, buffer, sizeof(buffer));
  if (bytes <= 0) return false;
  output_.append(buffer, static_cast<std::size_t>(bytes));
  return true;
}

std::optional<ExitStatus> Subprocess::wait(Clock::time_point deadline) {
  // Polls at short intervals, so that the end time is accurate even while a grandchild holds the pipe open.
  bool open = true;
  while (!reap(false)) {
    if (Clock::now() >= deadline) {
      ::kill(-pid_, SIGKILL);
      (void)reap(true);
      while (open && read_some(Clock::now() + std::chrono::milliseconds(100)) && Clock::now() < deadline) {
      }
      return std::nullopt;
    }
    const auto next = std::min(deadline, Clock::now() + std::chrono::milliseconds(5));
    if (open)
      open = read_some(next);
    else
      std::this_thread::sleep_until(next);
  }
  // Reads the rest of the output: at least a full pipe, however late this process runs. A grandchild that outlives the
  // child and keeps writing must not block this loop.
  constexpr std::size_t kPipeBytes = std::size_t{64} << 10;
  const std::size_t all = output_.size() + kPipeBytes;
  const auto grace = Clock::now() + std::chrono::milliseconds(500);
  while (open && (Clock::now() < grace || output_.size() < all)) {
    const std::size_t before = output_.size();
    open = read_some(Clock::now() + std::chrono::milliseconds(50));
    if (output_.size() == before) break;
  }
  return status_;
}

bool Subprocess::wait_for_output(const std::string& text, Clock::time_point deadline) {
  while (output_.find(text) == std::string::npos) {
    if (Clock::now() >= deadline || !read_some(deadline)) return false;
  }
  return true;
}

CommandResult run_command(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment, std::chrono::milliseconds deadline) {
  Subprocess process(command, environment);
  const std::optional<ExitStatus> status = process.wait(Clock::now() + deadline);
  return {status ? status->code : -1, !status, process.output()};
}

}  // namespace tutti::test
