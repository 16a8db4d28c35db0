#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// A program that cannot be started; exit_code() is what a shell would end with: 127 not found, 126 not executable.
class ProgramError : public std::runtime_error {
 public:
  ProgramError(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

/// The file that a shell would run for `name`. Throws ProgramError.
[[nodiscard]] std::string find_program(const std::string& name);

/// The running command's own file.
[[nodiscard]] std::string own_program();

/// The variables a child gets: those of this process with changes.
class ProcessEnvironment {
 public:
  ProcessEnvironment();
  void set(const std::string& name, const std::string& value) { variables_[name] = value; }
  void unset(const std::string& name) { variables_.erase(name); }
  void unset_prefix(std::string_view prefix);
  [[nodiscard]] std::string get(const std::string& name) const;
  /// `value` in front of the colon-separated list.
  void prepend_path(const std::string& name, const std::string& value);
  /// "NAME=VALUE" each.
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  std::map<std::string, std::string> variables_;
};

/// A pipe; both ends are closed on exec.
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
  bool own_group = true;       ///< a process group of its own, so that what it starts can be ended with it
  int death_signal = SIGKILL;  ///< what it gets when this process dies, however that happens
};

/// Starts it with default signal handling. Call it from the thread that lives as long as the process: the kernel ties
/// death_signal to it. Throws ProgramError when it cannot be executed, Error{system} otherwise.
[[nodiscard]] pid_t spawn(const ProcessSpec& spec);

/// Makes orphans below this process its children, so that end_descendants() finds them, and remembers which children
/// were there before: a shell that becomes this command leaves it those that it had in the background.
void adopt_orphans();

/// Kills everything that this process has started since, also what left its process group, and waits until it is gone.
/// Returns what is still there after `patience`: the kernel may hold on to a process that waits for a device.
std::vector<pid_t> end_descendants(std::chrono::nanoseconds patience = std::chrono::seconds(5));

/// What a program printed on both outputs, given that it ended well within `seconds`; empty otherwise. The signals of
/// SignalWatch may be blocked.
[[nodiscard]] std::string output_of(const std::string& program, std::span<const std::string> arguments,
                                    const ProcessEnvironment& environment, int seconds);

/// 128 + signal, or the exit code, of what wait() returned.
[[nodiscard]] int exit_code_of(int wait_status);

/// "exited with 3", "was ended by signal 9 (killed)".
[[nodiscard]] std::string describe_end(int wait_status);

}  // namespace tutti::tools
