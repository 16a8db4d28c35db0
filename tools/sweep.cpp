#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "command_line.hpp"
#include "machine.hpp"
#include "results/results_csv.hpp"
#include "results/results_json.hpp"
#include "sweep/sizes.hpp"
#include "sweep/sweep_device.hpp"
#include "sweep/sweep_head.hpp"
#include "sweep/sweep_runner.hpp"
#include "sweep/sweep_table.hpp"
#include "text/output_file.hpp"
#include "text/progress.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/kernels.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct SweepOptions {
  std::vector<OpKind> ops = {OpKind::allreduce};
  std::vector<std::string> backends;  // empty: all that are usable
  std::vector<std::uint64_t> sizes = parse_sizes("1M..512M");
  std::string json;
  std::string csv;
  bool quiet = false;
  SweepSettings settings = {};
};

std::vector<OpKind> parse_ops(const std::string& text) {
  std::vector<OpKind> ops;
  std::vector<std::string> accepted;
  for (const OpTraits& row : kOpTraits) {
    if (is_sweepable(row.kind)) accepted.emplace_back(row.name);
  }
  for (const std::string& word : split(text, ',')) {
    const auto op = parse_op_kind(word);
    if (!op || !is_sweepable(*op))
      throw UsageError(concat("operation \"", word, "\" cannot be measured; accepted: ", join(accepted, ", ")));
    if (std::ranges::find(ops, *op) == ops.end()) ops.push_back(*op);
  }
  if (ops.empty()) throw UsageError(concat("no operation is given; accepted: ", join(accepted, ", ")));
  return ops;
}

std::vector<std::string> parse_backends(const std::string& text) {
  std::vector<std::string> specs;
  for (const std::string& word : split(text, ',')) {
    const std::string spec = check_spec(word);
    if (std::ranges::find(specs, spec) == specs.end()) specs.push_back(spec);
  }
  if (specs.empty()) throw UsageError("no backend is given; accepted: " + accepted_specs());
  return specs;
}

DataType parse_dtype(const std::string& text) {
  if (const auto type = parse_data_type(text)) return *type;
  std::vector<std::string> accepted;
  for (const DataType type : kDataTypes) accepted.emplace_back(name(type));
  throw UsageError(concat("unknown data type \"", text, "\"; accepted: ", join(accepted, ", ")));
}

std::chrono::nanoseconds parse_positive_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration || duration->count() == 0)
    throw UsageError(concat('"', text, "\" is not a positive duration; accepted: 30 (seconds), 250ms, 90s, 5min"));
  return *duration;
}

std::string parse_output_file(const std::string& text) {
  if (text.empty() || std::filesystem::is_directory(text))
    throw UsageError(concat('"', text, "\" is empty or a folder; give the path of a file"));
  return text;
}

constexpr CommandText kText = {
    .name = "sweep",
    .summary = "Compare the speed of all usable backends by message size.",
    .usage = "tutti sweep [options]",
    .description =
        "Measures the speed of every usable backend at each message size, checks every result and prints a table. A "
        "cell of the table is one operation on one backend at one size. Each backend is started with its own launcher. "
        "A cell that crashes, hangs or gives a wrong result is marked as failed, and the sweep continues.",
    .footer =
        "Exit codes:\n"
        "  0    no cell failed (a cell that does not fit in memory is skipped, not failed)\n"
        "  1    a cell failed, or no backend could be measured\n"
        "  2    invalid command line\n"
        "  130  interrupted by Ctrl-C; table and files hold the cells measured so far\n"
        "\nExamples:\n"
        "  tutti sweep\n"
        "  tutti sweep --ops allreduce,allgather --sizes 1K..1M --ranks 4 --json sweep.json\n"
        "  tutti sweep --backends native --sizes 64M --dtype bfloat16\n"
        "  tutti sweep --device auto\n"};

void add_options(CLI::App& command, SweepOptions& options) {
  SweepSettings& settings = options.settings;
  add_value(command, "--ops", "LIST", "Operations to measure, e.g. allreduce,allgather. Default: allreduce.",
            [&](const std::string& text) { options.ops = parse_ops(text); });
  add_value(command, "--backends", "LIST",
            "Backends to measure, from the list below; a name alone is its first usable product. Default: all usable "
            "backends that stand on no other one.",
            [&](const std::string& text) { options.backends = parse_backends(text); });
  add_value(
      command, "--sizes", "SIZES",
      "Message sizes in bytes, with K, M and G as powers of 1024: a doubling range (1M..512M), a list (1K,64K), or "
      "both. Default: 1M..512M.",
      [&](const std::string& text) { options.sizes = parse_sizes(text); });
  add_number(command, "-n,--ranks", settings.ranks, 1, 1024,
             "Number of ranks. Default: one per core, at least 2 and at most 4.");
  add_value(command, "--dtype", "TYPE", "Element type, e.g. bfloat16. Default: float32.",
            [&](const std::string& text) { settings.type = parse_dtype(text); });
  add_value(
      command, "--device", "DEVICE",
      "Memory of the buffers: host, a device (sycl:0, sycl:0.1), a device module whose devices are distributed over "
      "the ranks (sycl), a list that is distributed over the ranks (host,sycl:0), or auto: GPUs if there are any, "
      "else the host. Default: host.",
      [&](const std::string& text) { settings.device = text; });
  add_value(command, "--json", "FILE", "Also write the results to this file as JSON.",
            [&](const std::string& text) { options.json = parse_output_file(text); });
  add_value(command, "--csv", "FILE", "Also write the results to this file as CSV.",
            [&](const std::string& text) { options.csv = parse_output_file(text); });
  add_number<std::uint64_t>(command, "--iterations", settings.iterations, 1, 1000000,
                            "Timed calls per cell. Default: as many as fit in --seconds-per-cell, 3 to 1000.");
  add_value(command, "--seconds-per-cell", "TIME", "Time to spend on the timed calls of a cell. Default: 1s.",
            [&](const std::string& text) {
              settings.seconds_per_cell = std::chrono::duration<double>(parse_positive_duration(text)).count();
            });
  add_value(command, "--timeout-per-cell", "TIME",
            "Time without progress after which a cell counts as hung. Default: 60s.", [&](const std::string& text) {
              settings.cell_timeout = parse_positive_duration(text);
              settings.timeout_text = concat(std::chrono::duration<double>(settings.cell_timeout).count(), " s");
            });
  command.add_flag("--quiet", options.quiet, "Do not show progress.");
}

BackendSetup setup_of(const LaunchTarget& target, int ranks) {
  BackendSetup setup{.backend = target.spec, .version = target.version, .launcher = launcher_command(target, ranks)};
  for (const spi::LaunchVariable& variable : launcher_variables(target, ranks)) {
    setup.variables.push_back(concat(variable.name, '=', variable.value, variable.prepends ? ":..." : ""));
  }
  return setup;
}

/// The backends to measure; the others are listed in the results with the reason.
std::vector<LaunchTarget> choose_targets(const SweepOptions& options, SweepResults& results) {
  std::vector<LaunchTarget> candidates;
  if (options.backends.empty()) {
    candidates = launch_targets();
    std::erase_if(candidates, [](const LaunchTarget& target) { return target.is_open(); });
  }
  for (const std::string& backend : options.backends) candidates.push_back(find_launch_target(backend));
  std::vector<LaunchTarget> chosen;
  for (LaunchTarget& target : candidates) {
    // "mpi" may stand for a backend that is listed too.
    if (std::ranges::find(chosen, target.spec, &LaunchTarget::spec) != chosen.end()) continue;
    if (target.usable) {
      results.backends.push_back(setup_of(target, options.settings.ranks));
      chosen.push_back(std::move(target));
    } else {
      results.unusable.push_back({target.spec, target.reason});
    }
  }
  return chosen;
}

/// One run of `tutti sweep`.
class Sweep {
 public:
  explicit Sweep(const SweepOptions& options) : options_(options), machine_(this_machine()) {
    results_.machine =
        concat(machine_.cpu, ", ", machine_.cores, machine_.cores == 1 ? " core, " : " cores, ", spi::kernel_target());
    results_.head =
        make_head(machine_, {concat("ranks=", options.settings.ranks), concat("dtype=", name(options.settings.type)),
                             concat("device=", options.settings.device),
                             concat("seconds-per-cell=", options.settings.seconds_per_cell)});
    results_.device = options.settings.device;
    results_.type = options.settings.type;
    results_.ranks = options.settings.ranks;
    results_.ops = options.ops;
    results_.sizes = options.sizes;
    open_file(options.json, json_);
    open_file(options.csv, csv_);
  }

  int run() {
    EventLoop loop;
    const SignalWatch signals(loop, [this](int number) {
      if (number != SIGCHLD && number != SIGTSTP) interrupted_ = true;
      if (runner_ == nullptr) return;
      if (number == SIGCHLD)
        runner_->on_child();
      else if (number == SIGTSTP)
        runner_->suspend();
      else
        runner_->stop();
    });
    check_device();
    const std::vector<LaunchTarget> targets = choose_targets(options_, results_);
    plan(targets.size());
    for (const LaunchTarget& target : targets) {
      if (!interrupted_) measure(loop, target);
    }
    progress_.reset();
    return finish(targets.empty());
  }

 private:
  // Opened before the sweep, which takes minutes, so that an unwritable file is reported at once.
  static void open_file(const std::string& path, std::optional<OutputFile>& file) {
    if (path.empty()) return;
    try {
      file.emplace(path);
    } catch (const Error& error) {
      throw UsageError(error.what());
    }
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

  void plan(std::size_t backends) {
    double cost = 0;
    for (const OpKind op : options_.ops) {
      for (const SweepCell& cell : cells_of(op)) {
        if (memory_short(cell)) continue;
        cells_.push_back(cell);
        cost += expected_seconds(cell);
      }
    }
    progress_.emplace("sweep", cost * static_cast<double>(backends), options_.quiet);
  }

  [[nodiscard]] std::vector<SweepCell> cells_of(OpKind op) const {
    return distinct_cells(op, options_.sizes, options_.settings.type, options_.settings.ranks);
  }

  // Fixed time for timing; time per byte for filling, checking, warm-up and the minimum number of calls.
  [[nodiscard]] double expected_seconds(const SweepCell& cell) const {
    return options_.settings.seconds_per_cell + 5e-9 * static_cast<double>(cell.bytes) * options_.settings.ranks;
  }

  // Twice with a device: its memory may be host memory, and the buffers are filled and checked on the host.
  [[nodiscard]] std::uint64_t memory_bytes(const CellShape& shape) const {
    return (options_.settings.device == "host" ? 1 : 2) * shape.memory_bytes();
  }

  [[nodiscard]] bool memory_short(const SweepCell& cell) const {
    return memory_bytes({cell, options_.settings.type, options_.settings.ranks}) > machine_.available_bytes;
  }

  void report_unfitting(const LaunchTarget& target) {
    for (const OpKind op : options_.ops) {
      for (const SweepCell& cell : cells_of(op)) {
        if (!memory_short(cell)) continue;
        const CellShape shape(cell, options_.settings.type, options_.settings.ranks);
        SweepRow row{.cell = cell, .backend = target.spec, .bytes = shape.message_bytes()};
        row.status = concat(kDoesNotFit, ": the ranks need ", format_bytes_rounded(memory_bytes(shape)), " of memory, ",
                            format_bytes_rounded(machine_.available_bytes), " are available");
        results_.rows.push_back(std::move(row));
      }
    }
  }

  void measure(EventLoop& loop, const LaunchTarget& target) {
    BackendSetup& setup = *std::ranges::find(results_.backends, target.spec, &BackendSetup::backend);
    SweepRunner runner(loop, target, options_.settings,
                       {.begun =
                            [&](const SweepCell& cell) {
                              progress_->show(concat(target.spec, " ", name(cell.op), " ", format_bytes(cell.bytes)));
                            },
                        .done =
                            [&](SweepRow row) {
                              progress_->advance(expected_seconds(row.cell));
                              results_.rows.push_back(std::move(row));
                            },
                        .setting = [&](std::string setting) { setup.add_setting(std::move(setting)); },
                        .used = [&](const BackendSetup& job) { setup.add_use(job); }});
    runner_ = &runner;
    runner.run(cells_);
    runner_ = nullptr;
    if (!interrupted_) report_unfitting(target);
  }

  int finish(bool nothing_to_measure) {
    const bool is_empty = nothing_to_measure || (interrupted_ && results_.rows.empty());
    const bool shown = is_empty || write_all(STDOUT_FILENO, to_table(results_, Terminal(STDOUT_FILENO)));
    if (json_) json_->write(to_json(results_));
    if (csv_) csv_->write(to_csv(results_));
    if (interrupted_) {
      write_all(STDERR_FILENO, is_empty
                                   ? "tutti sweep: interrupted before anything was measured\n"
                                   : "tutti sweep: interrupted; the table above holds the cells measured so far\n");
      return kExitInterrupted;
    }
    if (!shown) throw Error(ErrorCode::system, "cannot write the table to standard output");
    if (nothing_to_measure) {
      std::string reasons;
      for (const UnusableBackend& backend : results_.unusable)
        reasons += concat("\n  ", backend.name, ": ", backend.reason);
      throw Error(ErrorCode::backend_unavailable, "no backend can be measured:" + reasons);
    }
    const bool good = std::ranges::all_of(
        results_.rows, [](const SweepRow& row) { return row.ok() || row.status.starts_with(kDoesNotFit); });
    return good ? 0 : kExitFailure;
  }

  const SweepOptions& options_;
  MachineInfo machine_;
  SweepResults results_;
  std::optional<OutputFile> json_;
  std::optional<OutputFile> csv_;
  std::vector<SweepCell> cells_;
  std::optional<Progress> progress_;
  SweepRunner* runner_ = nullptr;
  bool interrupted_ = false;
};

}  // namespace

void add_sweep_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(tutti, kText);
  const auto options = std::make_shared<SweepOptions>();
  options->settings.ranks = std::clamp(this_host().cores, 2, 4);
  add_options(command, *options);
  list_backends_in_help(command);
  command.callback([&invocation, options] { invocation.exit_code = Sweep(*options).run(); });
}

}  // namespace tutti::tools
