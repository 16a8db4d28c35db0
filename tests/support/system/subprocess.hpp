#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tutti::test {

/// Exit status of a process.
struct ExitStatus {
  int code = 0;  ///< exit code, or 128 + the signal
  std::chrono::steady_clock::time_point when;
};

/// A child process in a process group of its own; collects its standard output and error in one text. The destructor
/// kills the whole group if the child still runs.
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
  /// Waits for the end. If the deadline passes first, kills the group and returns nothing.
  [[nodiscard]] std::optional<ExitStatus> wait(std::chrono::steady_clock::time_point deadline);
  /// Waits until the output contains `text`; false when the process ends or the deadline passes first.
  [[nodiscard]] bool wait_for_output(const std::string& text, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] const std::string& output() const noexcept { return output_; }

 private:
  // Waits for output until `deadline` and reads it. False at the end of the output.
  bool read_some(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool reap(bool block);

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
  std::optional<ExitStatus> status_;
};

/// Output and exit code of a command.
struct CommandResult {
  int code = 0;
  bool timed_out = false;
  std::string output;
};

/// Runs a command to its end, or kills its whole process group at the deadline.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& command,
                                        const std::map<std::string, std::string>& environment,
                                        std::chrono::milliseconds deadline);

}  // namespace tutti::test
