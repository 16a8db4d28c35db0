#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>

#include "command_line.hpp"
#include "diagnose/diagnose_commands.hpp"
#include "launch/process.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

int dispatch(std::vector<std::string> words) {
  Invocation invocation;
  const auto tutti = make_command_line();
  add_run_command(*tutti, invocation);
  add_sweep_command(*tutti, invocation);
  add_report_command(*tutti, invocation);
  add_tune_command(*tutti, invocation);
  add_explain_command(*tutti, invocation);
  add_record_command(*tutti, invocation);
  add_replay_command(*tutti, invocation);
  add_info_command(*tutti, invocation);
  add_topo_command(*tutti, invocation);
  add_ps_command(*tutti, invocation);
  add_doctor_command(*tutti, invocation);
  add_preload_command(*tutti, invocation);
  add_prof_command(*tutti, invocation);
  add_tally_command(*tutti, invocation);
  add_run_rank_command(*tutti, invocation);
  add_guard_command(*tutti, invocation);
  add_replay_rank_command(*tutti, invocation);
  add_sweep_rank_command(*tutti, invocation);
  if (words.empty()) {
    write_all(STDERR_FILENO, tutti->help());
    return kExitUsage;
  }
  parse(*tutti, std::move(words), invocation);
  return invocation.exit_code;
}

/// Opens /dev/null on every closed standard descriptor. Otherwise the next opened file would get its number, and a rank
/// would read or write that file. The outputs are opened read-only, so that writing to them still fails.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
  }
}

int report(std::string_view message, int code) {
  write_all(STDERR_FILENO, concat("tutti: ", message, '\n'));
  return code;
}

}  // namespace
}  // namespace tutti::tools

int main(int count, char** words) {
  using namespace tutti::tools;
  // A write to a closed pipe must fail instead of killing this process, so that the job is ended in order.
  std::signal(SIGPIPE, SIG_IGN);
  occupy_standard_descriptors();
  try {
    return dispatch(std::vector<std::string>(words + std::min(count, 1), words + count));
  } catch (const UsageError& error) {
    return report(error.what(), kExitUsage);
  } catch (const ProgramError& error) {
    return report(error.what(), error.exit_code());
  } catch (const std::exception& error) {
    return report(error.what(), kExitFailure);
  }
}
