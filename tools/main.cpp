#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "options.hpp"
#include "process.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"

namespace tutti::tools {
namespace {

struct Command {
  std::string_view name;
  int (*run)(Arguments);
  std::string_view summary;  // empty: internal
};

constexpr std::array kCommands = {
    Command{"run", run_command, "Start the ranks of a program on this machine."},
    Command{"sweep", sweep_command, "Time and check every usable backend by message size."},
    Command{"info", info_command, "Show backends, launchers, devices and settings."},
    Command{"run-rank", run_rank_command, ""},
    Command{"sweep-rank", sweep_rank_command, ""},
};

std::string help() {
  std::string text = concat("tutti ", version(),
                            ": one interface for collective communication, many libraries underneath.\n\n"
                            "usage: tutti COMMAND [options]\n\nCommands:\n");
  for (const Command& command : kCommands) {
    if (!command.summary.empty())
      text += concat("  ", command.name, std::string(9 - command.name.size(), ' '), command.summary, '\n');
  }
  text +=
      "\nOptions:\n"
      "  --version  Show the version.\n"
      "  --help     Show this text; tutti COMMAND --help shows that of a command.\n"
      "\nExamples:\n"
      "  tutti run -n 4 -- ./app                four ranks, started by tutti itself\n"
      "  tutti run -n 4 --backend mpi -- ./app  the same program on MPI\n"
      "  tutti sweep                            which backend is the fastest here?\n"
      "  tutti info --config                    every setting, its value and where it came from\n"
      "\nExit codes:\n"
      "  0 all went well   1 something failed   2 wrong command line   130 Ctrl-C\n"
      "  tutti run ends with the code of the first rank that fails; see tutti run --help.\n";
  return text;
}

int unknown_command(const std::string& name) {
  if (name == "test") {
    throw UsageError("the tests are run from the source tree: ./tutti test");
  }
  std::vector<std::string_view> names;
  std::vector<std::string> shown;
  for (const Command& command : kCommands) {
    if (command.summary.empty()) continue;
    names.push_back(command.name);
    shown.emplace_back(command.name);
  }
  const std::string_view guess = nearest(name, names);
  throw UsageError(
      concat("unknown command \"", name, "\"; ",
             guess.empty() ? "there are " + join(shown, ", ") : concat("did you mean \"tutti ", guess, "\"?")));
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    write_all(STDERR_FILENO, help());
    return kExitUsage;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    write_all(STDOUT_FILENO, help());
    return 0;
  }
  if (name == "--version") {
    write_all(STDOUT_FILENO, concat("tutti ", version(), '\n'));
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(Arguments(arguments).subspan(1));
  }
  if (name.starts_with('-')) throw UsageError(concat("unknown option ", name, "; see tutti --help"));
  return unknown_command(name);
}

int report(std::string_view message, int code) {
  write_all(STDERR_FILENO, concat("tutti: ", message, '\n'));
  return code;
}

}  // namespace
}  // namespace tutti::tools

int main(int count, char** words) {
  using namespace tutti::tools;
  // A reader that has gone is seen where we write, and the job is ended in order.
  std::signal(SIGPIPE, SIG_IGN);
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
