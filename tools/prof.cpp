#include <unistd.h>

#include "command_line.hpp"
#include "prof/prof_options.hpp"
#include "prof/profiled_run.hpp"
#include "prof/running_sessions.hpp"
#include "prof/session_folder.hpp"
#include "prof/session_output.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr CommandText kText = {
    .name = "prof",
    .summary = "Run a command and show its calls, device time and memory.",
    .usage = "tutti prof [options] -- COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND, any program or launcher, and records the calls of the communication and device libraries in it "
        "and in all processes that it starts. When it has ended, one tally of all ranks is written to standard error. "
        "tutti prof may stand in front of a launcher or inside it, before the program of each rank.",
    .footer =
        "SIGUSR1 to tutti prof in front of a launcher writes a tally of the running command. Ctrl-C goes\n"
        "to the command; once that has ended, another Ctrl-C skips the tally.\n"
        "\nExit codes:\n"
        "  N      exit code of COMMAND\n"
        "  128+S  COMMAND was ended by signal S\n"
        "  2      invalid command line\n"
        "  126    COMMAND is not executable\n"
        "  127    COMMAND was not found\n"
        "\nExamples:\n"
        "  tutti prof -- mpirun -n 2 ./app                    in front of a launcher\n"
        "  mpirun -n 2 tutti prof -- ./app                    inside it\n"
        "  tutti prof --by op,size,backend -- tutti run -n 4 -- ./app\n"
        "  tutti prof -b mpi,memory --percentiles -- mpirun -n 2 python3 train.py\n"
        "  tutti prof --timeline step.pftrace -- ./app        for https://ui.perfetto.dev\n"
        "  tutti prof --trace-output before -- ./app; tutti tally before --by rank\n"
        "  tutti prof --paused -- ./app                       record from here: tutti prof --control start\n"};

int show_replay(const ProfOptions& options) {
  const std::string folder = options.replay->empty() ? latest_session().string() : *options.replay;
  const profiling::Profile profile = read_chosen(folder, options.output, options.sources);
  write_session(profile, options.output, STDOUT_FILENO);
  write_all(STDERR_FILENO, write_files(profile, options.output) + warning_lines(profile));
  return 0;
}

int prof(const CLI::App& command, const ProfOptions& options, const Invocation& invocation) {
  std::vector<std::string> words = program_words(command, invocation);
  if (options.replay || !options.control.empty()) {
    if (!words.empty())
      throw UsageError(concat("prof: ", options.replay ? "--replay" : "--control", " takes no command, but \"",
                              words.front(), "\" was given"));
    return options.replay ? show_replay(options) : control_session(options);
  }
  if (words.empty()) throw UsageError("prof: the command is missing; use tutti prof [options] -- COMMAND");
  return run_profiled(options, std::move(words));
}

}  // namespace

void add_prof_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  command.prefix_command();
  const auto options = std::make_shared<ProfOptions>();
  add_prof_options(command, *options);
  command.callback([&command, &invocation, options] { invocation.exit_code = prof(command, *options, invocation); });
}

}  // namespace tutti::tools
