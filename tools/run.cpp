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
    .summary = "Start N ranks of a program on this machine.",
    .usage = "tutti run -n N [options] -- PROGRAM [ARGUMENT...]",
    .description =
        "Starts N ranks of PROGRAM on this machine. Each line of output is prefixed with the rank that wrote it; rank "
        "0 reads standard input. When a rank fails, the other ranks are ended.",
    .footer =
        "Exit codes:\n"
        "  0      all ranks exited with 0\n"
        "  N      exit code of the first rank that failed\n"
        "  128+S  the first rank that failed was ended by signal S\n"
        "  1      the backend is not usable, or the job could not be started\n"
        "  2      invalid command line\n"
        "  124    --timeout expired\n"
        "  126    PROGRAM is not executable\n"
        "  127    PROGRAM was not found\n"
        "\nExamples:\n"
        "  tutti run -n 4 -- ./app --input data.bin\n"
        "  tutti run -n 2 --backend native --timeout 5min -- ./app\n"};

void add_options(CLI::App& command, RunOptions& options) {
  add_number(command, "-n,--ranks", options.ranks, 1, kMostRanks, "Number of ranks. Required.");
  command
      .add_option("-b,--backend", options.backend,
                  "Backend of the ranks, from the list below; a name alone is its first usable product. A library that "
                  "has a launcher starts the ranks with it. Default: tutti starts the ranks, and the program "
                  "or TUTTI_BACKEND chooses the backend.")
      ->type_name("SPEC");
  add_value(
      command, "-t,--timeout", "TIME",
      "End the job after this time: 30 (seconds), 250ms, 90s, 5min, 1.5h. Default: no limit.",
      [&](const std::string& text) {
        options.timeout = parse_duration(text);
        options.timeout_text = text;
        if (!options.timeout)
          throw UsageError(concat('"', text, "\" is not a duration; accepted: 30 (seconds), 250ms, 90s, 5min, 1.5h"));
        if (options.timeout->count() == 0) options.timeout.reset();
      });
  add_value(command, "-e,--env", "NAME=VALUE", "Set an environment variable of the ranks. May be repeated.",
            [&](const std::string& text) {
              const std::size_t equals = text.find('=');
              if (equals == 0 || equals == std::string::npos)
                throw UsageError(concat('"', text, "\" is not of the form NAME=VALUE"));
              options.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            });
  command.add_flag("--no-prefix", options.no_prefix, "Do not prefix the output with the rank.");
}

/// Prints the output of the ranks, whole lines at a time.
class Printer {
 public:
  explicit Printer(bool prefix) : prefix_(prefix) {}

  /// False when the output cannot be written.
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
    job->stop(128 + number, concat("all ranks were killed after a second ", describe_signal(number)));
    job->kill_now();
  });
  InputPump input(loop);
  Printer printer(!options.no_prefix);
  bool unread = false;
  JobSpec spec{.ranks = options.ranks, .command = std::move(command), .environment = options.environment};
  if (!options.backend.empty()) spec.backend = target.spec;
  spec.input = input.descriptor();
  job = std::make_unique<Job>(loop, target, std::move(spec), [&](int rank, RankStream stream, std::string_view bytes) {
    if (!printer(rank, stream, bytes)) unread = true;
  });
  input.started();
  if (options.timeout) time_up = Clock::now() + *options.timeout;
  job->on_child();  // ranks that have ended already
  while (job->running()) {
    loop.wait(earliest(earliest(job->deadline(), input.deadline()), time_up));
    input.tick();
    if (unread)
      job->stop(128 + SIGPIPE, "cannot write the output of the ranks (closed pipe or full disk); all ranks were ended");
    if (time_up && Clock::now() >= *time_up) {
      time_up.reset();
      job->stop(kExitTimeout,
                concat("the job timed out after ", options.timeout_text, " (--timeout); all ranks were ended"));
    }
    job->tick();
  }
  if (!job->end().message.empty()) write_all(STDERR_FILENO, concat("tutti run: ", job->end().message, '\n'));
  return job->end().exit_code;
}

int run(const CLI::App& command, const RunOptions& options, const Invocation& invocation) {
  std::vector<std::string> program = program_words(command, invocation);
  if (options.ranks == 0) throw UsageError("run: the number of ranks is missing; use tutti run -n N -- PROGRAM");
  if (program.empty()) throw UsageError("run: the program is missing; use tutti run -n N -- PROGRAM");
  const LaunchTarget target = options.backend.empty() ? LaunchTarget{} : find_launch_target(options.backend);
  if (!target.usable)
    throw Error(ErrorCode::backend_unavailable, concat("backend ", target.spec, " is not usable: ", target.reason));
  return run_job(options, target, std::move(program));
}

}  // namespace

void add_run_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  command.prefix_command();
  const auto options = std::make_shared<RunOptions>();
  add_options(command, *options);
  list_backends_in_help(command);
  command.callback([&command, &invocation, options] { invocation.exit_code = run(command, *options, invocation); });
}

}  // namespace tutti::tools
