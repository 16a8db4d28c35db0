#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tutti::test {

/// How a process ended.
struct ExitStatus {
  int code = 0;  ///< exit code, or 128 + the signal
  std::chrono::steady_clock::time_point when;
};

/// A child in a process group of its own, its standard output and error collected in one text. Killed with its whole
/// group on destruction if it still runs.
class Subprocess {
 public:
  /// `environment` is added to this process's own; an empty value removes the variable. argv[0] is looked up in PATH.
  explicit Subprocess(const std::vector<std::string>& command,
                      const std::map<std::string, std::string>& environment = {});
  ~Subprocess();
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void kill(int signal) const noexcept;
  /// Waits for the end; nothing when the deadline passes first (the group is killed then).
  [[nodiscard]] std::optional<ExitStatus> wait(std::chrono::steady_clock::time_point deadline);
  /// Waits until the output contains `text`; false when the process ends or the deadline passes first.
  [[nodiscard]] bool wait_for_output(const std::string& text, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] const std::string& output() const noexcept { return output_; }

 private:
  // Reads what is there; waits for more until `deadline` at most. False at the end of the output.
  bool read_some(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool reap(bool block);

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
  std::optional<ExitStatus> status_;
};

/// What a finished command said and how it ended.
struct CommandResult {
  int code = 0;
  bool timed_out = false;
  std::string output;
};

/// Runs a command to its end, or kills it with all its children at the deadline.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& environment,
                                        std::chrono::milliseconds deadline);

}  // namespace tutti::test
