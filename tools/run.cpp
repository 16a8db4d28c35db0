#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "command_line.hpp"
#include "launch/input_pump.hpp"
#include "launch/job.hpp"
#include "launch/line_prefixer.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr int kMostRanks = 4096;

struct RunOptions {
  int ranks = 0;
  std::string backend;
  std::optional<std::chrono::nanoseconds> timeout;
  std::string timeout_text;
  bool no_prefix = false;
  std::vector<std::pair<std::string, std::string>> environment;
};

constexpr CommandText kText = {
    .name = "run",
    .summary = "Start the ranks of a program on this machine.",
    .usage = "tutti run -n N [options] -- PROGRAM [ARGUMENT...]",
    .description =
        "Starts N ranks of a program on this machine. Their output comes line by line with the number of the rank in "
        "front; rank 0 reads the standard input. The first rank that fails ends the others.",
    .footer =
        "Exit codes:\n"
        "  0    all ranks ended with 0        124  the time was up\n"
        "  2    wrong command line            126  the program is not executable\n"
        "  N    of the first rank that fails  127  the program was not found\n"
        "  128+S  that rank was ended by signal S\n"
        "\nExamples:\n"
        "  tutti run -n 4 -- ./app --input data.bin\n"
        "  tutti run -n 2 --backend mpi-openmpi --timeout 5min -- ./app\n"};

void add_options(CLI::App& command, RunOptions& options) {
  add_number(command, "-n,--ranks", options.ranks, 1, kMostRanks, "How many ranks.");
  command
      .add_option(
          "-b,--backend", options.backend,
          "native, ccl, nccl, mpi-openmpi, mpi-mpich, mpi-intel, or mpi for the first MPI that is there. An MPI's "
          "ranks are started by its own launcher. Default: started by tutti, and the program or TUTTI_BACKEND "
          "chooses.")
      ->type_name("NAME");
  add_value(command, "-t,--timeout", "TIME", "End the job after this time: 30, 90s, 5min, 1.5h.",
            [&](const std::string& text) {
              options.timeout = parse_duration(text);
              options.timeout_text = text;
              if (!options.timeout)
                throw UsageError(concat('"', text, "\" is not a time; accepted: 30, 250ms, 90s, 5min, 1.5h"));
              if (options.timeout->count() == 0) options.timeout.reset();
            });
  add_value(command, "-e,--env", "NAME=VALUE", "Set a variable for the ranks; may be given several times.",
            [&](const std::string& text) {
              const std::size_t equals = text.find('=');
              if (equals == 0 || equals == std::string::npos)
                throw UsageError(concat('"', text, "\" is not NAME=VALUE"));
              options.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            });
  command.add_flag("--no-prefix", options.no_prefix, "Do not put the number of the rank in front of its lines.");
}

/// Prints what the ranks write, whole lines at a time.
class Printer {
 public:
  explicit Printer(bool prefix) : prefix_(prefix) {}

  /// False when nobody reads the output any more.
  bool operator()(int rank, RankStream stream, std::string_view bytes) {
    const int descriptor = stream == RankStream::output ? STDOUT_FILENO : STDERR_FILENO;
    const std::pair key(rank, stream);
    auto found = lines_.find(key);
    if (found == lines_.end()) {
      const Terminal& terminal = terminals_[static_cast<std::size_t>(stream)];
      const bool plain = !prefix_ || rank < 0;
      found =
          lines_.emplace(key, LinePrefixer(plain ? "" : terminal.coloured(rank, concat('[', rank, ']')) + " ")).first;
    }
    return write_all(descriptor, bytes.empty() ? found->second.finish() : found->second.feed(bytes));
  }

 private:
  bool prefix_;
  std::array<Terminal, 2> terminals_ = {Terminal(STDOUT_FILENO), Terminal(STDERR_FILENO)};
  std::map<std::pair<int, RankStream>, LinePrefixer> lines_;
};

std::optional<Clock::time_point> earliest(std::optional<Clock::time_point> a, std::optional<Clock::time_point> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

int run_job(const RunOptions& options, const LaunchTarget& target, std::vector<std::string> command) {
  EventLoop loop;
  std::unique_ptr<Job> job;
  int interruptions = 0;
  std::optional<Clock::time_point> time_up;
  const SignalWatch signals(loop, [&](int number) {
    if (!job) return;
    if (number == SIGCHLD) return job->on_child();
    if (number == SIGTSTP) {
      const Clock::duration away = job->suspend();
      if (time_up) *time_up += away;
      return;
    }
    if (number == SIGUSR1 || number == SIGUSR2) return job->pass_on(number);
    if (++interruptions == 1) return job->forward(number);
    job->stop(128 + number, concat("killed after the second ", describe_signal(number)));
    job->kill_now();
  });
  InputPump input(loop);
  Printer printer(!options.no_prefix);
  bool unread = false;
  JobSpec spec{.ranks = options.ranks, .command = std::move(command), .environment = options.environment};
  if (!options.backend.empty()) spec.backend = target.backend();
  spec.input = input.descriptor();
  job = std::make_unique<Job>(loop, target, std::move(spec), [&](int rank, RankStream stream, std::string_view bytes) {
    if (!printer(rank, stream, bytes)) unread = true;
  });
  input.started();
  if (options.timeout) time_up = Clock::now() + *options.timeout;
  job->on_child();  // what ended before its signal could be handled
  while (job->running()) {
    loop.wait(earliest(earliest(job->deadline(), input.deadline()), time_up));
    input.tick();
    if (unread) job->stop(128 + SIGPIPE, "nobody reads the output any more");
    if (time_up && Clock::now() >= *time_up) {
      time_up.reset();
      job->stop(kExitTimeout, concat("the time of ", options.timeout_text, " is up; all ranks were ended"));
    }
    job->tick();
  }
  if (!job->end().message.empty()) write_all(STDERR_FILENO, concat("tutti run: ", job->end().message, '\n'));
  return job->end().exit_code;
}

int run(const CLI::App& command, const RunOptions& options, const Invocation& invocation) {
  // Without "--" the program begins at the first word that is no option.
  std::vector<std::string> program = command.remaining();
  if (!program.empty() && program.front().starts_with('-')) refuse_word(command, program.front());
  if (!program.empty() && !invocation.program.empty()) program.emplace_back("--");
  program.insert(program.end(), invocation.program.begin(), invocation.program.end());
  if (options.ranks == 0) throw UsageError("run: say how many ranks with -n N");
  if (program.empty()) throw UsageError("run: say which program: tutti run -n N -- PROGRAM");
  const LaunchTarget target = find_launch_target(options.backend.empty() ? "native" : options.backend);
  if (!target.usable) throw Error(ErrorCode::backend_unavailable, concat(target.name, ": ", target.reason));
  return run_job(options, target, std::move(program));
}

}  // namespace

void add_run_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  command.prefix_command();
  const auto options = std::make_shared<RunOptions>();
  add_options(command, *options);
  command.callback([&command, &invocation, options] { invocation.exit_code = run(command, *options, invocation); });
}

}  // namespace tutti::tools
