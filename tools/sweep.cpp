#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "command_line.hpp"
#include "machine.hpp"
#include "results/results_json.hpp"
#include "sweep/other_sweeps.hpp"
#include "sweep/plan/soak_schedule.hpp"
#include "sweep/plan/sweep_options.hpp"
#include "sweep/plan/sweep_plan.hpp"
#include "sweep/plan/sweep_resume.hpp"
#include "sweep/plan/sweep_targets.hpp"
#include "sweep/rank/computation.hpp"
#include "sweep/show/sweep_chart.hpp"
#include "sweep/show/sweep_table.hpp"
#include "sweep/show/sweep_view.hpp"
#include "sweep/soak.hpp"
#include "sweep/sweep_device.hpp"
#include "sweep/sweep_head.hpp"
#include "sweep/sweep_outputs.hpp"
#include "sweep/sweep_runs.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

/// One run of `tutti sweep`.
class Sweep {
 public:
  /// `earlier`: results of the file of --resume.
  Sweep(SweepOptions& options, SweepOutputs& outputs, SweepResults earlier)
      : options_(options), outputs_(outputs), machine_(this_machine()), earlier_(std::move(earlier)) {
    outputs_.open();
  }

  int run() {
    const SignalWatch signals(loop_, [this](int number) { on_signal(number); });
    check_device();
    const std::vector<LaunchTarget> targets = choose_targets(options_, results_);
    prepare(targets);
    const OtherSweeps others(loop_);
    show_remarks(others);
    measure_plan();
    note_others(others);
    return finish(targets.empty());
  }

 private:
  void on_signal(int number) {
    if (number != SIGCHLD && number != SIGTSTP) interrupted_ = true;
    if (runner_ == nullptr) return;
    if (number == SIGCHLD)
      runner_->on_child();
    else if (number == SIGTSTP)
      runner_->suspend();
    else
      runner_->stop();
  }

  // Call after SignalWatch has blocked the signals: the threads of a device runtime must not receive them.
  void check_device() const {
    if (options_.settings.device == "host") return;
    try {
      (void)place_on(options_.settings.device);
    } catch (const Error& error) {
      throw UsageError(concat("--device: ", error.what()));
    }
  }

  void prepare(const std::vector<LaunchTarget>& targets) {
    if (!options_.seed && (options_.runs > 1 || options_.soak.count() > 0)) options_.seed = random_seed();
    std::vector<std::string> backends;
    for (const LaunchTarget& target : targets) {
      backends.push_back(target.spec);
      targets_[target.spec] = target;
    }
    plan_ = make_plan(options_, backends, {machine_.available_bytes, machine_.cores}, earlier_.rows);
    options_.seconds_per_cell = options_.settings.seconds_per_cell = plan_.seconds_per_cell;
    if (const double seconds = options_.settings.compute_seconds; seconds > 0)
      options_.settings.compute_passes = Computation::passes_for(seconds);
    results_.head = make_head(machine_, settings_of(options_));
    results_.machine = machine_line(results_.head);
    results_.device = options_.settings.device;
    results_.type = options_.settings.type;
    results_.ranks = options_.ranks.front();
    results_.ops = options_.ops;
    results_.sizes = options_.sizes;
    if (options_.resume.empty()) return;
    require_same_conditions(options_.resume, earlier_, results_);
    continue_from(results_, std::move(earlier_));
  }

  void show_remarks(const OtherSweeps& others) const {
    if (options_.quiet) return;
    const Terminal terminal(STDERR_FILENO);
    const auto remark = [&](const std::string& text) {
      // A line of a file or a pipe is one remark.
      const std::size_t width = terminal.is_tty() ? terminal.columns() : std::string::npos;
      for (const std::string& line : wrap("tutti sweep: " + text, width)) write_all(STDERR_FILENO, line + "\n");
    };
    for (const std::string& text : plan_.remarks) remark(text);
    if (!others.processes().empty())
      remark(concat(describe(others), " on this host: the two disturb each other's times; end it, or measure again"));
    if (!options_.resume.empty()) {
      const std::size_t cells = plan_.cells();
      remark(cells == 0 ? concat("nothing is missing in ", options_.resume)
                        : concat(cells, cells == 1 ? " cell of " : " cells of ", options_.resume,
                                 cells == 1 ? " is" : " are", " missing or failed"));
    }
  }

  static std::string describe(const OtherSweeps& others) {
    const pid_t process = others.processes().front();
    return process == 0 ? "a sweep in another container is running"
                        : concat("another sweep, process ", process, ", is running");
  }

  void note_others(const OtherSweeps& others) {
    if (others.processes().empty()) return;
    results_.head.settings.push_back(concat("other-sweeps=", others.processes().size()));
  }

  void measure_plan() {
    SweepView::Options shown{.quiet = options_.quiet, .watch = options_.watch};
    if (options_.soak.count() > 0) shown.end = Clock::now() + options_.soak;
    SweepView view(loop_, plan_, results_, shown);
    if (shown.end)
      soak(view, *shown.end);
    else
      for (const SweepJob& job : plan_.jobs) measure(job, view);
    view.clear();
    if (!interrupted_) add_unfitting();
  }

  /// Returns the number of rows without a failure.
  std::size_t measure(const SweepJob& job, SweepView& view, std::size_t round_cells = 0) {
    if (interrupted_) return 0;
    BackendSetup& setup = *std::ranges::find(results_.backends, job.backend, &BackendSetup::backend);
    SweepSettings settings = options_.settings;
    settings.ranks = job.ranks;
    settings.counted = job.counted;
    RankMemory memory;
    std::size_t rows = 0;
    std::size_t good = 0;
    view.begin_job(job);
    SweepRunner runner(
        loop_, targets_.at(job.backend), settings,
        {.begun = [&](const SweepCell& cell) { view.begun(cell); },
         .done =
             [&](const SweepRow& row) {
               good += row.ok() ? 1 : 0;
               add_run(results_.rows, row);
               view.done(row);
               if (++rows % std::max<std::size_t>(round_cells, 1) == 0 && round_cells > 0) memory.sample();
             },
         .setting = [&](std::string setting) { setup.add_setting(std::move(setting)); },
         .used = [&](const BackendSetup& use) { setup.add_use(use); },
         .process = [&](int rank,
                        const RankProcess& process) { memory.joined(rank, static_cast<pid_t>(process.pid)); }});
    runner_ = &runner;
    runner.run(job.cells);
    runner_ = nullptr;
    if (round_cells > 0) soak_.add(job.backend, job.ranks, memory.growth());
    return good;
  }

  /// Repeats the jobs of the plan until `end`; each of them makes several rounds of its cells at a time.
  void soak(SweepView& view, Clock::time_point end) {
    const Clock::time_point begin = Clock::now();
    SoakSchedule schedule(plan_, std::chrono::duration<double>(options_.soak).count(), options_.seed.value_or(0));
    while (!interrupted_ && !schedule.is_empty()) {
      const Clock::time_point start = Clock::now();
      if (start >= end) break;
      const SweepJob job = schedule.next(std::chrono::duration<double>(end - start).count());
      const std::size_t good = measure(job, view, schedule.round_cells());
      schedule.finished(good, std::chrono::duration<double>(Clock::now() - start).count());
    }
    soak_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void add_unfitting() {
    for (const UnfittingCell& cell : plan_.unfitting) {
      for (const auto& [backend, target] : targets_) {
        SweepRow row{.cell = cell.cell,
                     .backend = backend,
                     .ranks = cell.ranks,
                     .type = options_.settings.type,
                     .bytes = cell.message_bytes};
        row.status = concat(kDoesNotFit, ": the ranks need ", format_bytes_rounded(cell.needed_bytes), " of memory, ",
                            format_bytes_rounded(machine_.available_bytes), " are available");
        add_run(results_.rows, std::move(row));
      }
    }
  }

  int finish(bool nothing_to_measure) {
    sort_rows(results_);
    const bool is_empty = nothing_to_measure || (interrupted_ && results_.rows.empty());
    const bool shown = is_empty || write_all(STDOUT_FILENO, screen_text());
    std::vector<std::string> errors = outputs_.write(results_);
    if (interrupted_) {
      write_all(STDERR_FILENO, is_empty
                                   ? "tutti sweep: interrupted before anything was measured\n"
                                   : "tutti sweep: interrupted; the table above holds the cells measured so far\n");
      if (!is_empty) keep_partial(errors);
    }
    for (const std::string& error : errors) write_all(STDERR_FILENO, concat("tutti sweep: ", error, '\n'));
    if (interrupted_) return kExitInterrupted;
    if (!shown) throw Error(ErrorCode::system, "cannot write the table to standard output");
    if (nothing_to_measure) throw Error(ErrorCode::backend_unavailable, "no backend can be measured:" + reasons());
    const bool good = std::ranges::all_of(
        results_.rows, [](const SweepRow& row) { return row.ok() || row.status.starts_with(kDoesNotFit); });
    return good && errors.empty() && !soak_.has_leak() ? 0 : kExitFailure;
  }

  [[nodiscard]] std::string screen_text() const {
    const Terminal terminal(STDOUT_FILENO);
    std::string text = to_table(results_, terminal);
    if (options_.watch) text += to_chart(results_, terminal);
    if (options_.soak.count() > 0) text += soak_.text(results_, soak_seconds_);
    return text + outputs_.printed(results_, terminal);
  }

  [[nodiscard]] std::string reasons() const {
    std::string text;
    for (const UnusableBackend& backend : results_.unusable) text += concat("\n  ", backend.name, ": ", backend.reason);
    return text;
  }

  /// Stores the results of an interrupted sweep, so that it can be continued.
  void keep_partial(std::vector<std::string>& errors) const {
    std::string path = outputs_.file("--json");
    const bool is_asked_for = !path.empty();
    if (!is_asked_for) path = partial_name(results_.head);
    try {
      if (!is_asked_for) write_file_atomically(path, to_json(results_));
      if (errors.empty())
        write_all(STDERR_FILENO, concat("tutti sweep: tutti sweep --resume ", path, " measures the rest\n"));
    } catch (const Error& error) {
      errors.emplace_back(error.what());
    }
  }

  SweepOptions& options_;
  SweepOutputs& outputs_;
  MachineInfo machine_;
  SweepResults earlier_;
  EventLoop loop_;
  SweepResults results_;
  std::map<std::string, LaunchTarget> targets_;  ///< by spec
  SweepPlan plan_;
  SoakReport soak_;
  double soak_seconds_ = 0;
  SweepRunner* runner_ = nullptr;
  bool interrupted_ = false;
};

int run_sweep(CLI::App& command, SweepOptions& options, SweepOutputs& outputs) {
  if (options.soak.count() > 0 && (options.runs > 1 || !options.resume.empty()))
    throw UsageError("--soak repeats rounds until its time is over; leave out --runs and --resume");
  SweepResults earlier;
  if (!options.resume.empty()) {
    earlier = resume_from(options.resume, command);
    if (!outputs.is_given("--json")) outputs.set_file("--json", options.resume);
  }
  return Sweep(options, outputs, std::move(earlier)).run();
}

}  // namespace

void add_sweep_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, sweep_text());
  const auto options = std::make_shared<SweepOptions>();
  const auto outputs = std::make_shared<SweepOutputs>(sweep_outputs());
  add_sweep_options(command, *options);
  outputs->add_options(command);
  list_backends_in_help(command);
  command.callback(
      [&command, &invocation, options, outputs] { invocation.exit_code = run_sweep(command, *options, *outputs); });
}

}  // namespace tutti::tools
