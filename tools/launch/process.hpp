#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// A program cannot be started; exit_code() is the exit code of a shell: 127 not found, 126 not executable.
class ProgramError : public std::runtime_error {
 public:
  ProgramError(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

/// The file that a shell would run for `name`. Throws ProgramError.
[[nodiscard]] std::string find_program(const std::string& name);

/// Path of the running executable. Throws Error{system}.
[[nodiscard]] std::string own_program();

/// Environment of a child: that of this process, with changes.
class ProcessEnvironment {
 public:
  ProcessEnvironment();
  void set(const std::string& name, const std::string& value) { variables_[name] = value; }
  void unset(const std::string& name) { variables_.erase(name); }
  void unset_prefix(std::string_view prefix);
  [[nodiscard]] std::string get(const std::string& name) const;
  /// Puts `value` in front of the colon-separated list.
  void prepend_path(const std::string& name, const std::string& value);
  /// All variables as "NAME=VALUE".
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  std::map<std::string, std::string> variables_;
};

/// A pipe; both ends are closed on exec. make_pipe() throws Error{system}.
struct Pipe {
  spi::FileDescriptor read;
  spi::FileDescriptor write;
};
[[nodiscard]] Pipe make_pipe();

struct ProcessSpec {
  std::string program;                 ///< path, see find_program()
  std::vector<std::string> arguments;  ///< with argument 0
  std::vector<std::string> environment;
  int input = -1;   ///< -1: /dev/null
  int output = -1;  ///< -1: this process's own, as for error
  int error = -1;
  bool own_group = true;               ///< its own process group, so that its children can be ended with it
  int death_signal = SIGKILL;          ///< sent to it when this process dies for any reason
  bool keeps_ignored_signals = false;  ///< as nohup and shells ignore them for their commands
};

/// Starts a process with default signal handling, except for ignored signals that it keeps. Call it from a thread that
/// lives as long as this process: the kernel sends death_signal when the thread ends. Throws ProgramError when the
/// program cannot be executed, else Error{system}.
[[nodiscard]] pid_t spawn(const ProcessSpec& spec);

/// Makes orphaned descendants children of this process, so that end_descendants() finds them. Remembers the children
/// that exist already: a shell that execs this command leaves it the shell's background jobs.
void adopt_orphans();

/// Kills all descendants started since adopt_orphans(), including those that left their process group, and waits until
/// they are gone. Returns those still there after `patience`: a process that waits for a device may not die.
std::vector<pid_t> end_descendants(std::chrono::nanoseconds patience = std::chrono::seconds(5));

/// The wait status of a child that has ended; nothing while it runs. The child stays a zombie, so that its number,
/// which may also be that of its process group, is not given to another process.
[[nodiscard]] std::optional<int> status_of_ended(pid_t child);

/// Waits for children that have ended, except those in `kept`: orphans that adopt_orphans() brought. Does not block.
void reap_orphans(const std::set<pid_t>& kept);

/// Standard output and error of a program that exits with 0 within `seconds`; empty otherwise. Works while SignalWatch
/// blocks the signals.
[[nodiscard]] std::string output_of(const std::string& program, std::span<const std::string> arguments,
                                    const ProcessEnvironment& environment, int seconds);

/// Exit code for a status of wait(): 128 + signal, or the exit code of the process.
[[nodiscard]] int exit_code_of(int wait_status);

/// "exited with code 3", "was ended by signal 9 (SIGKILL, killed)".
[[nodiscard]] std::string describe_end(int wait_status);

}  // namespace tutti::tools
