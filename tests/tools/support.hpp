#pragma once

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/system/shared_memory.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {

using Words = std::vector<std::string>;
using namespace std::chrono_literals;

/// The words of a command line, with the path of the command in front.
inline Words tutti(Words words) {
  words.insert(words.begin(), TUTTI_COMMAND);
  return words;
}

/// Runs the command; the result contains both outputs. The deadline is long because the machine may be busy.
inline CommandResult run_tutti(Words words, const std::map<std::string, std::string>& environment = {}) {
  return run_command(tutti(std::move(words)), environment, 120s);
}

inline std::chrono::steady_clock::time_point soon(std::chrono::seconds seconds = 60s) {
  return std::chrono::steady_clock::now() + seconds;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Waits until a file has `lines` lines and returns the numbers in it; returns fewer after a timeout.
inline std::vector<pid_t> wait_for_pids(const std::string& path, std::size_t lines) {
  std::vector<pid_t> pids;
  for (const auto deadline = soon(); std::chrono::steady_clock::now() < deadline && pids.size() < lines;) {
    std::istringstream content(read_file(path));
    pids.clear();
    for (pid_t pid = 0; content >> pid;) pids.push_back(pid);
    std::this_thread::sleep_for(10ms);
  }
  return pids;
}

inline bool is_running(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

/// Whether all processes end within 20 s.
inline bool all_gone(const std::vector<pid_t>& pids) {
  for (const auto deadline = soon(20s); std::chrono::steady_clock::now() < deadline;) {
    bool any = false;
    for (const pid_t pid : pids) any = any || is_running(pid);
    if (!any) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

/// The children of a process.
inline std::vector<pid_t> children_of(pid_t parent) {
  const std::string number = std::to_string(parent);
  std::istringstream list(read_file("/proc/" + number + "/task/" + number + "/children"));
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

/// Processor time of the processes so far, in clock ticks.
inline long processor_time(const std::vector<pid_t>& pids) {
  long ticks = 0;
  for (const pid_t pid : pids) {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 2, stat.size())));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return ticks;
}

}  // namespace tutti::test
