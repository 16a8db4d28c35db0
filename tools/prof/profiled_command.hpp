#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/event_loop.hpp"

namespace tutti::tools {

/// A command that runs as if a shell had started it: in this process's group and terminal, with its descriptors. Keys
/// such as Ctrl-C reach it from the terminal, signals that are sent to this process are passed on; if it stops, this
/// process stops, too.
class ProfiledCommand {
 public:
  struct Spec {
    std::string program;                 ///< path
    std::vector<std::string> arguments;  ///< with argument 0
    std::vector<std::string> environment;
    bool is_rank = false;  ///< started by a launcher, whose signals are meant for the command: SIGUSR1, too
    std::function<void()> on_request = {};               ///< SIGUSR1, and each interval: an intermediate tally
    std::optional<std::chrono::nanoseconds> every = {};  ///< interval
  };
  explicit ProfiledCommand(Spec spec);

  /// Runs the command to its end; returns its wait status. Throws ProgramError when it cannot be executed.
  int run();

  /// After run(): waits until `is_done()`. False if `deadline` passed or this process was told to end.
  bool wait_until(const std::function<bool()>& is_done, Clock::time_point deadline);

  /// Whether a signal asked this process to end: while the command ran, or later.
  [[nodiscard]] bool was_told_to_end() const noexcept { return told_to_end_; }
  /// Whether a signal asked this process to end after the command had ended.
  [[nodiscard]] bool was_interrupted() const noexcept { return interrupted_; }

 private:
  void on_signal(int number);
  void on_child();

  Spec spec_;
  EventLoop loop_;
  SignalWatch signals_;
  pid_t child_ = -1;
  std::optional<int> status_;
  bool told_to_end_ = false;
  bool interrupted_ = false;
};

}  // namespace tutti::tools
