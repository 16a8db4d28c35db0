#include "prof/profiled_command.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "launch/process.hpp"

namespace tutti::tools {
namespace {

// Other processes change the files that is_done() looks at.
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

ProfiledCommand::ProfiledCommand(Spec spec)
    : spec_(std::move(spec)), signals_(loop_, [this](int number) { on_signal(number); }) {}

int ProfiledCommand::run() {
  child_ = spawn({.program = spec_.program,
                  .arguments = spec_.arguments,
                  .environment = spec_.environment,
                  .input = STDIN_FILENO,
                  .own_group = false,
                  // A launcher removes its ranks on SIGTERM; on SIGKILL it could not.
                  .death_signal = spec_.is_rank ? SIGKILL : SIGTERM,
                  .keeps_ignored_signals = true});
  std::optional<Clock::time_point> next;
  if (spec_.every) next = Clock::now() + *spec_.every;
  on_child();
  while (!status_) {
    loop_.wait(next);
    if (!next || Clock::now() < *next || status_) continue;
    *next += *spec_.every;
    spec_.on_request();
  }
  return *status_;
}

bool ProfiledCommand::wait_until(const std::function<bool()>& is_done, Clock::time_point deadline) {
  while (!is_done()) {
    if (interrupted_ || Clock::now() >= deadline) return false;
    loop_.wait(std::min(deadline, Clock::now() + kLook));
  }
  return true;
}

void ProfiledCommand::on_signal(int number) {
  if (number == SIGCHLD) return on_child();
  if (number == SIGUSR1 && !spec_.is_rank && !status_) return spec_.on_request();
  const bool asks_to_end = number != SIGUSR1 && number != SIGUSR2 && number != SIGTSTP;
  told_to_end_ = told_to_end_ || asks_to_end;
  interrupted_ = interrupted_ || (asks_to_end && status_);
  // The terminal sends its signals to the whole group, and so to the command itself.
  if (child_ > 0 && !signals_.is_from_terminal()) kill(child_, number);
}

void ProfiledCommand::on_child() {
  int status = 0;
  if (child_ <= 0 || waitpid(child_, &status, WNOHANG | WUNTRACED) != child_) return;
  if (WIFSTOPPED(status)) {
    // The shell sees its child stop, as it would without this process in between.
    raise(SIGSTOP);
    kill(child_, SIGCONT);
    return;
  }
  status_ = status;
  child_ = -1;  // another process may get its number
}

}  // namespace tutti::tools
