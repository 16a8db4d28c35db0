#include "report/control.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>

#include "report/process_file.hpp"

namespace tutti::profiling {
namespace {

std::runtime_error failure(const std::filesystem::path& path, const char* state) {
  const std::string reason = std::generic_category().message(errno);
  return std::runtime_error(path.string() + " " + state + ": " + reason);
}

void write_at(const std::filesystem::path& path, int flags, const void* bytes, std::size_t size, off_t offset) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (file < 0) throw failure(path, "cannot be opened");
  const bool written = pwrite(file, bytes, size, offset) == static_cast<ssize_t>(size);
  const int error = errno;
  close(file);
  errno = error;
  if (!written) throw failure(path, "cannot be written");
}

// For processes that begin later. Written aside and moved, so that none reads a part.
void write_wish(const std::filesystem::path& folder, std::string_view wish) {
  const std::filesystem::path aside = folder / (std::string(layout::kControlFile) + "." + std::to_string(getpid()));
  write_at(aside, O_CREAT | O_TRUNC, wish.data(), wish.size(), 0);
  std::filesystem::rename(aside, folder / layout::kControlFile);
}

std::size_t request(const std::filesystem::path& folder, std::uint32_t recording) {
  // First, so that no process begins between the two unheard.
  write_wish(folder, recording == 1 ? "start\n" : "stop\n");
  std::size_t told = 0;
  for (const std::filesystem::path& path : process_files(folder)) {
    try {
      if (read_process_header(path).ended == 1) continue;
    } catch (const std::runtime_error&) {
      continue;  // not ours to write to
    }
    write_at(path, 0, &recording, sizeof recording, offsetof(layout::Header, recording));
    ++told;
  }
  return told;
}

}  // namespace

std::vector<ProcessState> process_states(const std::filesystem::path& folder) {
  std::array<char, layout::kHostBytes> host = {};
  gethostname(host.data(), host.size() - 1);
  std::vector<std::pair<ProcessState, std::uint32_t>> states;
  for (const std::filesystem::path& path : process_files(folder)) {
    layout::Header header;
    try {
      header = read_process_header(path);
    } catch (const std::runtime_error&) {
      continue;
    }
    ProcessState state{.host = header.host, .command = header.command, .pid = header.pid, .rank = header.rank};
    state.recording = header.recording != 0 && header.discarded == 0;
    state.ended = header.ended == 1;
    const auto pid = static_cast<pid_t>(header.pid);
    state.running = !state.ended && pid > 0 && state.host == host.data() && (kill(pid, 0) == 0 || errno == EPERM);
    states.emplace_back(std::move(state), header.start);
  }
  std::sort(states.begin(), states.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.host, a.first.pid, a.second) < std::tie(b.first.host, b.first.pid, b.second);
  });
  std::vector<ProcessState> result;
  for (auto& [state, start] : states) {
    // The same process before exec: its program is not there any more.
    if (!result.empty() && result.back().pid == state.pid && result.back().host == state.host) {
      result.back().running = false;
    }
    result.push_back(std::move(state));
  }
  return result;
}

std::size_t request_start(const std::filesystem::path& folder) { return request(folder, 1); }
std::size_t request_stop(const std::filesystem::path& folder) { return request(folder, 0); }

}  // namespace tutti::profiling
