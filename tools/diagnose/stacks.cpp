#include "diagnose/stacks.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 512> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

/// The lines that are frames of a stack.
std::string frames_in(const std::string& text) {
  std::string frames;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) frames += line + "\n";
  }
  return frames;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string thread_stack(std::int64_t pid, std::uint32_t thread) {
  struct stat status {};
  const std::string folder = concat("/proc/", pid, "/task/", thread);
  // The thread that made the communicator may have ended.
  const std::int64_t tid = stat(folder.c_str(), &status) == 0 ? std::int64_t{thread} : pid;
  const std::string limit = "timeout 20 ";
  std::string frames = frames_in(output_of(concat(limit, "eu-stack -1 -p ", tid, " 2>/dev/null")));
  if (frames.empty()) {
    // gdb attaches to the process; its thread is selected by the number that the kernel gives it.
    frames = frames_in(output_of(
        concat(limit, "gdb -p ", tid, " -nx -batch -ex 'set debuginfod enabled off' -ex bt </dev/null 2>/dev/null")));
  }
  if (!frames.empty()) return frames;
  const std::string at = concat("/proc/", pid, "/task/", tid);
  return concat("waits in the kernel at ", first_line(at + "/wchan"), ", system call ", first_line(at + "/syscall"),
                "\n(install gdb or elfutils, or run as a user that may trace the process, for the whole stack)\n");
}

}  // namespace tutti::tools
