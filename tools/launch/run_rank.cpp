#include <sys/wait.h>

#include <array>
#include <optional>

#include "command_line.hpp"
#include "launch/event_loop.hpp"
#include "launch/local_socket.hpp"
#include "launch/process.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

/// Runs the program of one rank under a library's launcher. Sends the program's output straight to `tutti run`, because
/// a launcher may break lines, and reports its wait status, because a launcher has one exit code for all ranks.
int run_rank(const std::string& control_name, const std::string& rank_variable, const std::vector<std::string>& words) {
  const std::optional<std::string> rank = spi::environment(rank_variable);
  if (!rank)
    throw Error(ErrorCode::system, concat("the launcher gave this process no rank: ", rank_variable, " is not set"));
  LineClient control(control_name);
  control.send("rank " + *rank);
  const std::array<spi::FileDescriptor, 2> streams = control.receive_descriptors();

  EventLoop loop;
  pid_t program = -1;
  bool told_to_end = false;
  std::optional<int> status;
  const SignalWatch signals(loop, [&](int number) {
    if (number != SIGCHLD) {
      told_to_end = told_to_end || (number != SIGUSR1 && number != SIGUSR2);
      if (program > 0) kill(program, number);
      return;
    }
    int ended = 0;
    if (program > 0 && waitpid(program, &ended, WNOHANG) == program) {
      status = ended;
      program = -1;  // another process may get its number
    }
  });
  // Started in the launcher's process group, because the launcher signals that group.
  program = spawn({.program = words.front(),
                   .arguments = words,
                   .environment = ProcessEnvironment().list(),
                   .input = STDIN_FILENO,
                   .output = streams[0].get(),
                   .error = streams[1].get(),
                   .own_group = false});
  while (!status) loop.wait(std::nullopt);
  // A rank that was told to end did not fail by itself.
  if (!told_to_end) control.send(concat("end ", *status));
  return exit_code_of(*status);
}

}  // namespace

void add_run_rank_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_internal_command(tutti, "run-rank");
  const auto control = std::make_shared<std::string>();
  const auto rank_variable = std::make_shared<std::string>();
  command.add_option("control", *control)->required();
  command.add_option("rank-variable", *rank_variable)->required();
  command.callback([&invocation, control, rank_variable] {
    if (invocation.program.empty()) throw UsageError("run-rank is an internal command; use tutti run -n N -- PROGRAM");
    invocation.exit_code = run_rank(*control, *rank_variable, invocation.program);
  });
}

}  // namespace tutti::tools
