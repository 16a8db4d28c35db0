#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tutti::profiling {

/// State of a process of a session, as its file tells it.
struct ProcessState {
  std::string host;
  std::string command;
  std::uint32_t pid = 0;
  int rank = -1;
  bool recording = false;
  bool ended = false;  ///< in order
  bool running =
      false;  ///< it is on this host and runs; false for a process of another host, of which nothing is known
};

/// The processes of a session, by host and number. Files that cannot be read are left out. Throws std::runtime_error
/// that names the folder if it cannot be read.
[[nodiscard]] std::vector<ProcessState> process_states(const std::filesystem::path& folder);

/// Has all processes of a session record, those that begin later included. Takes effect with their next call; returns
/// how many processes were told, of those that have not ended. Throws std::runtime_error if the folder or one of its
/// files cannot be written.
std::size_t request_start(const std::filesystem::path& folder);
/// The same for recording nothing.
std::size_t request_stop(const std::filesystem::path& folder);

}  // namespace tutti::profiling
