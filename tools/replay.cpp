#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "command_line.hpp"
#include "machine.hpp"
#include "record/record_check.hpp"
#include "record/record_prefix.hpp"
#include "record/record_reader.hpp"
#include "replay/replay_results.hpp"
#include "replay/replay_runner.hpp"
#include "replay/replay_size_tables.hpp"
#include "replay/shipped_records.hpp"
#include "text/output_file.hpp"
#include "text/progress.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct ReplayOptions {
  std::string file;
  std::vector<std::string> backends;  // empty: all that are usable
  std::string json;
  std::optional<ReportFormat> sizes = {};
  RateKind rate = RateKind::bus;
  bool autotune = false;
  bool quiet = false;
  ReplaySettings settings = {};
};

constexpr CommandText kText = {
    .name = "replay",
    .summary = "Run a recorded job's communication on any backend.",
    .usage = "tutti replay FILE [options]",
    .description =
        "Runs the collectives and messages of a record (see tutti record and docs/record-format.md) on one backend "
        "after the other and prints the profiles side by side: per operation and size, in all, and per rank. Each "
        "backend is started with its own launcher. FILE is a record, or the name of one that comes with tutti.",
    .footer =
        "Exit codes:\n"
        "  0    all replays ended well\n"
        "  1    a replay failed, no backend is usable, or the record cannot be replayed\n"
        "  2    invalid command line\n"
        "  130  interrupted by Ctrl-C\n"
        "\nExamples:\n"
        "  tutti replay job.record\n"
        "  tutti replay job.record --backend native,mpi:openmpi --gaps none --check\n"
        "  tutti replay killed.record --prefix\n"
        "  tutti replay resnet50 -n 4 --backend native\n"
        "  tutti replay vgg16 -n 2 --backend horovod:native --autotune\n"
        "  tutti replay vgg16 --backend horovod:mpi --sizes markdown\n"};

double parse_gaps(const std::string& text) {
  if (text == "keep") return 1;
  if (text == "none") return 0;
  char* end = nullptr;
  const double factor = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(factor >= 0) || factor > 1000)
    throw UsageError(concat('"', text, "\" is no factor for gaps; accepted: keep, none, 0 to 1000"));
  return factor;
}

void add_options(CLI::App& command, ReplayOptions& options) {
  command.add_option("FILE", options.file, "The record.")->required()->type_name("");
  add_value(command, "-b,--backend,--backends", "LIST",
            "Backends to replay on, separated by commas; a name alone is its first usable product. Default: all usable "
            "backends that stand on no other one.",
            [&](const std::string& text) {
              for (const std::string& word : split(text, ',')) options.backends.push_back(check_spec(word));
            });
  add_number(command, "-n,--ranks", options.settings.ranks, 1, 1024,
             "Number of ranks, for records of any number. Default: one per core, at least 2 and at most 4.");
  add_value(command, "--gaps", "GAPS",
            "Time between the operations: keep (as recorded), none, or a factor such as 0.5. Default: keep.",
            [&](const std::string& text) { options.settings.gaps = parse_gaps(text); });
  add_number(command, "--rounds", options.settings.rounds, 1, 1000,
             "Timed rounds; the round of median duration is shown. One more comes first and is not timed. Default: 1.");
  command.add_flag("--prefix", options.settings.prefix,
                   "End each rank before its first operation that lacks a partner: for records of jobs that were "
                   "killed in the middle.");
  command.add_flag("--check", options.settings.check, "Check every result, in the round that is not timed.");
  add_value(command, "--json", "FILE", "Also write the results to this file as JSON.", [&](const std::string& text) {
    if (text.empty() || std::filesystem::is_directory(text))
      throw UsageError(concat('"', text, "\" is empty or a folder; give the path of a file"));
    options.json = text;
  });
  add_value(
      command, "--sizes", "FORMAT",
      "Show the operations by class of size, as they reach the library underneath (fused ones are one): text, below "
      "the other tables; markdown or csv, instead of them.",
      [&](const std::string& text) {
        options.sizes = parse_report_format(text);
        if (!options.sizes)
          throw UsageError(concat('"', text, "\" is no format of tables; accepted: text, markdown, csv"));
      });
  add_value(command, "--rate", "RATE",
            "Rate in these tables: bus, that of the busiest link, or plain, bytes by time. Default: bus.",
            [&](const std::string& text) {
              if (text != "bus" && text != "plain")
                throw UsageError(concat('"', text, "\" is no rate; accepted: bus, plain"));
              options.rate = text == "bus" ? RateKind::bus : RateKind::plain;
            });
  command.add_flag(
      "--autotune", options.autotune,
      "Replay a second time, on each backend, after HOROVOD_AUTOTUNE has found its best parameters; for "
      "backends horovod:... Shows the sizes before and after. HOROVOD_AUTOTUNE_ variables set the length of "
      "the search.");
  command.add_flag("--quiet", options.quiet, "Do not show progress.");
}

/// Time without a sign after which ranks count as hung: longer than any gap, and than setup and a stuck operation take
/// until tutti's own timeouts end them.
std::chrono::nanoseconds patience_for(const replay::JobRecord& record, double factor) {
  float longest = 0;
  for (const replay::Sequence& sequence : record.sequences) {
    for (const float gap : sequence.gaps) longest = std::max(longest, gap);
  }
  return std::chrono::seconds(180) +
         std::chrono::microseconds(static_cast<std::int64_t>(static_cast<double>(longest) * factor));
}

/// One run of `tutti replay`.
class Replay {
 public:
  explicit Replay(const ReplayOptions& options) : options_(options), settings_(options.settings) {
    settings_.file = find_record(options.file);
    record_ = load();
    if (record_.ranks == 0 && settings_.ranks == 0) settings_.ranks = std::clamp(this_host().cores, 2, 4);
    plan_ = replay::check(record_, settings_.ranks);
    settings_.ranks = plan_.ranks;
    if (options.autotune) require_tunable();
    settings_.patience = patience_for(record_, settings_.gaps);
    require_memory();
    ReplayRows rows = rows_of(record_, plan_.ranks);
    results_ = {.title = record_.about.empty() ? options.file : record_.about,
                .recorded_backend = record_.backend,
                .ranks = plan_.ranks,
                .rounds = settings_.rounds,
                .gaps = settings_.gaps,
                .checked = settings_.check,
                .rows = rows.rows,
                .recorded = recorded_totals(record_, rows, plan_.ranks),
                .outcomes = {}};
    // Before the replay, which takes its time, so that an unwritable file is reported at once.
    if (!options.json.empty()) json_.emplace(options.json);
  }

  int run() {
    EventLoop loop;
    const SignalWatch signals(loop, [this](int number) {
      if (number != SIGCHLD && number != SIGTSTP && number != SIGUSR1 && number != SIGUSR2) interrupted_ = true;
      if (runner_ == nullptr || number == SIGUSR1 || number == SIGUSR2) return;
      if (number == SIGCHLD)
        runner_->on_child();
      else if (number == SIGTSTP)
        runner_->suspend();
      else
        runner_->stop();
    });
    const std::vector<LaunchTarget> targets = choose_targets();
    Progress progress("replay", static_cast<double>(targets.size() * (options_.autotune ? 2 : 1)), options_.quiet);
    for (const LaunchTarget& target : targets) {
      if (!interrupted_) replay_on(loop, target, settings_, progress);
      if (!options_.autotune || interrupted_) continue;
      ReplaySettings tuned = settings_;
      tuned.autotune = true;
      replay_on(loop, target, tuned, progress);
    }
    progress.clear();
    return finish();
  }

 private:
  [[nodiscard]] replay::JobRecord load() const {
    replay::JobRecord record = replay::load_record(settings_.file);
    if (!settings_.prefix) return record;
    replay::RecordPrefix prefix = replay::common_prefix(std::move(record));
    if (prefix.dropped > 0)
      write_all(STDERR_FILENO, concat("tutti replay: the prefix has ", prefix.kept, " operations of all ranks; ",
                                      prefix.dropped, " behind it are left out\n"));
    return std::move(prefix.record);
  }

  void require_tunable() const {
    const auto is_engine = [](const std::string& spec) { return spec == "horovod" || spec.starts_with("horovod:"); };
    if (options_.backends.empty() || !std::ranges::all_of(options_.backends, is_engine))
      throw UsageError("--autotune needs backends that tune, such as --backend horovod:native");
    if (std::ranges::none_of(record_.operations, [](const auto& op) { return !op.label.empty(); }))
      throw UsageError("--autotune needs operations with labels, by which the engine knows its tensors");
  }

  void require_memory() const {
    std::uint64_t all = 0;
    for (const std::uint64_t bytes : plan_.peak_bytes) all += bytes;
    const std::uint64_t available = this_machine().available_bytes;
    if (all > available)
      throw Error(ErrorCode::system, concat("the buffers of the record need ", format_bytes_rounded(all),
                                            " of memory, ", format_bytes_rounded(available), " are available"));
  }

  std::vector<LaunchTarget> choose_targets() {
    std::vector<LaunchTarget> candidates;
    if (options_.backends.empty()) {
      candidates = launch_targets();
      std::erase_if(candidates, [](const LaunchTarget& target) { return target.is_open(); });
    }
    for (const std::string& backend : options_.backends) candidates.push_back(find_launch_target(backend));
    std::vector<LaunchTarget> chosen;
    for (LaunchTarget& target : candidates) {
      if (!target.usable) {
        results_.unusable.emplace_back(target.spec, target.reason);
      } else if (std::ranges::find(chosen, target.spec, &LaunchTarget::spec) == chosen.end()) {
        chosen.push_back(std::move(target));
      }
    }
    return chosen;
  }

  void replay_on(EventLoop& loop, const LaunchTarget& target, const ReplaySettings& settings, Progress& progress) {
    const double events = static_cast<double>(settings_.rounds + 1) *
                          static_cast<double>(std::max<std::uint64_t>(plan_.operations[0], 1));
    double done = 0;
    const std::string shown = target.spec + (settings.autotune ? ", tuning" : "");
    progress.show(shown);
    ReplayRunner runner(loop, target, settings, results_.rows.size(), [&](std::uint64_t count) {
      // Waits are events, too, so that the number may pass that of the operations.
      const double share = std::min(static_cast<double>(count) / events, 1.0);
      progress.advance(share - done);
      done = share;
      progress.show(shown);
    });
    runner_ = &runner;
    results_.outcomes.push_back(runner.run());
    runner_ = nullptr;
    progress.advance(1 - done);
  }

  int finish() {
    if (interrupted_) {
      write_all(STDERR_FILENO, "tutti replay: interrupted\n");
      return kExitInterrupted;
    }
    const Terminal terminal(STDOUT_FILENO);
    const ReportFormat format = options_.sizes.value_or(ReportFormat::text);
    if (format == ReportFormat::text) write_result(to_table(results_, terminal));
    if (options_.sizes || options_.autotune) {
      const std::string gap = format == ReportFormat::text ? "\n" : "";
      write_result(gap + print_sizes(results_, options_.rate, format, terminal));
    }
    if (json_) json_->write(to_json(results_));
    const bool asked_in_vain = !options_.backends.empty() && !results_.unusable.empty();
    const bool good = !results_.outcomes.empty() && std::ranges::all_of(results_.outcomes, &ReplayOutcome::ok);
    return good && !asked_in_vain ? 0 : kExitFailure;
  }

  const ReplayOptions& options_;
  ReplaySettings settings_;
  replay::JobRecord record_;
  replay::ReplayPlan plan_;
  ReplayResults results_;
  std::optional<OutputFile> json_;
  ReplayRunner* runner_ = nullptr;
  bool interrupted_ = false;
};

}  // namespace

void add_replay_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  const auto options = std::make_shared<ReplayOptions>();
  add_options(command, *options);
  list_backends_in_help(command);
  command.callback([&invocation, options] { invocation.exit_code = Replay(*options).run(); });
}

}  // namespace tutti::tools
