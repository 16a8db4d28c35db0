#include "faults/campaign/job/processes.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tutti::test::campaign {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Empty if the file cannot be read: processes end at any time, and only root may read some files.
std::string content_of(const fs::path& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 4096> part;
  for (ssize_t count = 0; (count = read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  close(file);
  return text;
}

/// The content in one line; zero bytes become blanks.
std::string line_of(const fs::path& path) {
  std::string text = content_of(path);
  for (char& c : text) {
    if (c == '\0') c = ' ';
    if (c == '\n') c = '|';
  }
  while (text.ends_with(' ') || text.ends_with('|')) text.pop_back();
  return text;
}

}  // namespace

std::vector<pid_t> processes_of(const std::string& job) {
  std::vector<pid_t> found;
  const std::string wanted = std::string(kJobVariable) + "=" + job;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = '\0' + content_of(entry->path() / "environ") + '\0';
    if (environment.find('\0' + wanted + '\0') == std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    const char state = state_of(pid);
    if (state != 0 && state != 'Z' && state != 'X') found.push_back(pid);
  }
  return found;
}

std::string command_line_of(pid_t pid) {
  const std::string line = line_of("/proc/" + std::to_string(pid) + "/cmdline");
  return line.empty() ? "(" + std::to_string(pid) + ")" : line;
}

char state_of(pid_t pid) {
  const std::string stat = content_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

std::vector<std::string> describe_threads(pid_t pid) {
  std::vector<std::string> threads;
  std::error_code error;
  const fs::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (fs::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error)) {
    const std::string stat = content_of(task->path() / "stat");
    const std::size_t name_end = stat.rfind(')');
    const std::string state = name_end == std::string::npos ? "?" : stat.substr(name_end + 2, 1);
    threads.push_back("thread " + task->path().filename().string() + " (" + line_of(task->path() / "comm") +
                      ") state " + state + ", wchan " + line_of(task->path() / "wchan") + ", syscall " +
                      line_of(task->path() / "syscall") + ", stack " + line_of(task->path() / "stack"));
  }
  return threads;
}

void kill_job(const std::string& job) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  for (;;) {
    const std::vector<pid_t> pids = processes_of(job);
    for (const pid_t pid : pids) {
      kill(pid, SIGKILL);
      (void)waitpid(pid, nullptr, WNOHANG);
    }
    if (pids.empty() || std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(2ms);
  }
}

void kill_children() {
  std::error_code error;
  for (fs::directory_iterator task("/proc/self/task", error), end; !error && task != end; task.increment(error)) {
    std::ifstream list(task->path() / "children");
    for (pid_t child = 0; list >> child;) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
}

}  // namespace tutti::test::campaign
