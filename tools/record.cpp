#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "command_line.hpp"
#include "launch/event_loop.hpp"
#include "launch/process.hpp"
#include "prof/program_check.hpp"
#include "prof/source_table.hpp"
#include "record/record_folder.hpp"
#include "record/record_printer.hpp"
#include "text/output_file.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct RecordOptions {
  std::string file = "tutti.record";
};

constexpr CommandText kText = {
    .name = "record",
    .summary = "Record every collective and message of a job.",
    .usage = "tutti record [-o FILE] -- COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND and writes what its ranks communicate through tutti or MPI to FILE: operations, counts, types, "
        "roots and peers, communicators, order, times and the gaps between the operations. tutti replay runs the same "
        "on any backend. COMMAND may be a launcher, or tutti record may stand behind the launcher, in front of the "
        "program. Of a program that uses tutti only tutti's operations are recorded.",
    .footer =
        "Exit codes: that of COMMAND; 128+S if signal S ended it; 1 if it succeeded but nothing could be recorded; "
        "126, "
        "127 if it\ncannot be started.\n"
        "\nExamples:\n"
        "  tutti record -- tutti run -n 4 -- ./app\n"
        "  tutti record -o job.record -- mpirun -n 4 ./app\n"
        "  mpirun -n 4 tutti record -o job.record -- ./app\n"};

/// Whether a key in the terminal sends its signals to this process's group, and so to the command itself.
bool is_in_foreground() {
  const spi::FileDescriptor terminal(open("/dev/tty", O_RDONLY | O_CLOEXEC));
  return terminal.get() >= 0 && tcgetpgrp(terminal.get()) == getpgrp();
}

/// Runs a command as a shell would, with this process's streams; returns its wait status.
int run_command(const std::vector<std::string>& words, const ProcessEnvironment& environment) {
  const std::string program = find_program(words.front());
  EventLoop loop;
  pid_t child = -1;
  std::optional<int> status;
  const auto look = [&] {
    int now = 0;
    if (child <= 0 || waitpid(child, &now, WNOHANG | WUNTRACED) != child) return;
    if (WIFSTOPPED(now)) {
      raise(SIGSTOP);
      kill(child, SIGCONT);
    } else {
      status = now;
    }
  };
  const SignalWatch signals(loop, [&](int number) {
    if (number == SIGCHLD) return look();
    const bool is_key = number == SIGINT || number == SIGQUIT || number == SIGTSTP;
    if (child > 0 && !status && !(is_key && is_in_foreground())) kill(child, number);
  });
  child = spawn({.program = program,
                 .arguments = words,
                 .environment = environment.list(),
                 .input = STDIN_FILENO,
                 .own_group = false,
                 // A launcher removes its ranks on SIGTERM; on SIGKILL it could not.
                 .death_signal = SIGTERM});
  look();
  while (!status) loop.wait(std::nullopt);
  return *status;
}

void warn(const std::string& text) { write_all(STDERR_FILENO, concat("tutti record: ", printable(text, 1000), '\n')); }

/// False when there is no record.
bool write_record(RecordFolder& folder, const std::string& file, const std::vector<std::string>& words) {
  try {
    std::optional<replay::MergedRecord> merged = folder.leave();
    if (!merged) return true;  // another rank writes it
    for (const std::string& warning : merged->warnings) warn(warning);
    merged->record.about = join(words, " ");
    write_file_atomically(file, to_text(merged->record));
    return true;
  } catch (const Error& error) {
    warn(error.what());
    return false;
  }
}

int record(const CLI::App& command, const RecordOptions& options, const Invocation& invocation) {
  std::vector<std::string> words = command.remaining();
  if (!words.empty() && words.front().starts_with('-')) refuse_word(command, words.front());
  words.insert(words.end(), invocation.program.begin(), invocation.program.end());
  if (words.empty()) throw UsageError("record: the command is missing; use tutti record -o FILE -- COMMAND");
  if (options.file.empty() || std::filesystem::is_directory(options.file))
    throw UsageError(concat("-o: \"", options.file, "\" is empty or a folder; give the path of a file"));
  const std::string program = find_program(words.front());
  RecordFolder folder(options.file);
  ProcessEnvironment environment;
  const std::string others = environment.get("TUTTI_OBSERVERS");
  environment.set("TUTTI_OBSERVERS", others.empty() ? "record" : others + ",record");
  environment.set("TUTTI_RECORD", folder.path());
  // The loader would complain on the standard error of the program.
  if (check_program(program).accepts_preload) (void)preload_mpi_source(program, environment);
  const int status = run_command(words, environment);
  const bool written = write_record(folder, options.file, words);
  const int code = exit_code_of(status);
  return code == 0 && !written ? kExitFailure : code;
}

}  // namespace

void add_record_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  command.prefix_command();
  const auto options = std::make_shared<RecordOptions>();
  command.add_option("-o,--output", options->file, "The record. Default: tutti.record.")->type_name("FILE");
  command.callback([&command, &invocation, options] { invocation.exit_code = record(command, *options, invocation); });
}

}  // namespace tutti::tools
