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

// The rank that the launcher gave to this process.
std::string launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const auto rank = spi::environment(name)) return *rank;
  }
  throw Error(ErrorCode::system, "the launcher did not say which rank this is (OMPI_COMM_WORLD_RANK, PMI_RANK)");
}

/// Stands between an MPI's launcher and the program: gives it an output that goes straight to `tutti run`, because a
/// launcher may tear lines, and tells how exactly it ended, because a launcher has one exit code for all.
int run_rank(const std::string& control_name, const std::vector<std::string>& words) {
  LineClient control(control_name);
  control.send("rank " + launched_rank());
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
    if (program > 0 && waitpid(program, &ended, WNOHANG) == program) status = ended;
  });
  // In the launcher's process group, which is what the launcher signals.
  program = spawn({.program = words.front(),
                   .arguments = words,
                   .environment = ProcessEnvironment().list(),
                   .input = STDIN_FILENO,
                   .output = streams[0].get(),
                   .error = streams[1].get(),
                   .own_group = false});
  while (!status) loop.wait(std::nullopt);
  // A rank that was ended from outside is not the one that failed.
  if (!told_to_end) control.send(concat("end ", *status));
  return exit_code_of(*status);
}

}  // namespace

void add_run_rank_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_internal_command(tutti, "run-rank");
  const auto control = std::make_shared<std::string>();
  command.add_option("control", *control)->required();
  command.callback([&invocation, control] {
    if (invocation.program.empty()) throw UsageError("run-rank is internal to tutti run");
    invocation.exit_code = run_rank(*control, invocation.program);
  });
}

}  // namespace tutti::tools
