#include "sweep/plan/sweep_options.hpp"

#include <algorithm>
#include <charconv>
#include <random>

#include "launch/launch_target.hpp"
#include "sweep/plan/sizes.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr int kMostRanks = 1024;

template <typename Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<OpKind> parse_ops(const std::string& text) {
  std::vector<OpKind> ops;
  std::vector<std::string> accepted;
  for (const OpTraits& row : kOpTraits) {
    if (is_sweepable(row.kind)) accepted.emplace_back(row.name);
  }
  for (const std::string& word : split(text, ',')) {
    const auto op = parse_op_kind(word);
    if (!op || !is_sweepable(*op))
      throw UsageError(
          concat("operation \"", printable(word), "\" cannot be measured; accepted: ", join(accepted, ", ")));
    add_once(ops, *op);
  }
  if (ops.empty()) throw UsageError(concat("no operation is given; accepted: ", join(accepted, ", ")));
  return ops;
}

std::vector<std::string> parse_backends(const std::string& text) {
  std::vector<std::string> specs;
  for (const std::string& word : split(text, ',')) add_once(specs, check_spec(word));
  if (specs.empty()) throw UsageError("no backend is given; accepted: " + accepted_specs());
  return specs;
}

std::vector<int> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& word : split(text, ',')) {
    const auto number = parse_number<int>(word);
    if (!number || *number < 1 || *number > kMostRanks) {
      throw UsageError(concat('"', printable(word), "\" is not a number of ranks; accepted: 1 to ", kMostRanks,
                              ", or a list (1,2,4)"));
    }
    add_once(ranks, *number);
  }
  if (ranks.empty()) throw UsageError("no number of ranks is given; accepted: a number (4) or a list (1,2,4)");
  return ranks;
}

std::vector<bool> parse_in_place(const std::string& text) {
  std::vector<bool> values;
  for (const std::string& word : split(text, ',')) {
    if (word != "no" && word != "yes" && word != "both")
      throw UsageError(concat('"', printable(word), "\" is neither no nor yes nor both; accepted: also no,yes"));
    if (word != "yes") add_once(values, false);
    if (word != "no") add_once(values, true);
  }
  if (values.empty()) throw UsageError("no value is given; accepted: no, yes, both");
  return values;
}

DataType parse_dtype(const std::string& text) {
  if (const auto type = parse_data_type(text)) return *type;
  std::vector<std::string> accepted;
  for (const DataType type : kDataTypes) accepted.emplace_back(name(type));
  throw UsageError(concat("unknown data type \"", printable(text), "\"; accepted: ", join(accepted, ", ")));
}

std::chrono::nanoseconds parse_positive_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration || duration->count() == 0) {
    throw UsageError(
        concat('"', printable(text), "\" is not a positive duration; accepted: 30 (seconds), 250ms, 90s, 5min, 2h"));
  }
  return *duration;
}

double seconds_of(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

std::uint64_t parse_seed(const std::string& text) {
  if (text == "random") return random_seed();
  if (const auto seed = parse_number<std::uint64_t>(text)) return *seed;
  throw UsageError(concat('"', printable(text), "\" is not a seed; accepted: a whole number, or random"));
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
        "  1    a cell failed, no backend could be measured, a file could not be written, or a soak found a leak\n"
        "  2    invalid command line\n"
        "  130  interrupted by Ctrl-C; table and files hold the cells measured so far\n"
        "\nExamples:\n"
        "  tutti sweep\n"
        "  tutti sweep --ops allreduce,allgather --sizes 1K..1M --ranks 2,4 --json sweep.json\n"
        "  tutti sweep --backends native --sizes 64M --dtype bfloat16 --in-place no,yes\n"
        "  tutti sweep --runs 7 --seed 1 --json sweep.json\n"
        "  tutti sweep --resume sweep.json\n"
        "  tutti sweep --soak 10min --backends native,mpi --sizes 1M\n"
        "  tutti sweep --device auto\n"};

void add_selection(CLI::App& command, SweepOptions& options) {
  add_value(command, "--ops", "LIST", "Operations to measure, e.g. allreduce,allgather. Default: allreduce.",
            [&](const std::string& text) { options.ops = parse_ops(text); });
  add_value(command, "--backends", "LIST",
            "Backends to measure, from the list below; a name alone is its first usable product. Default: all usable "
            "backends; those that stand on another one, on the first of the others.",
            [&](const std::string& text) { options.backends = parse_backends(text); });
  add_value(
      command, "--sizes", "SIZES",
      "Message sizes in bytes, with K, M and G as powers of 1024: a doubling range (1M..512M), a list (1K,64K), or "
      "both. Default: 1M..512M.",
      [&](const std::string& text) { options.sizes = parse_sizes(text); });
  add_value(command, "-n,--ranks", "LIST",
            "Number of ranks, or several (1,2,4). Default: one per core, at least 2 and at most 4.",
            [&](const std::string& text) { options.ranks = parse_ranks(text); });
  add_value(command, "--in-place", "LIST",
            "Whether input and output are the same memory: no, yes, or both (no,yes). Default: no.",
            [&](const std::string& text) { options.in_place = parse_in_place(text); });
  add_value(command, "--dtype", "TYPE", "Element type, e.g. bfloat16. Default: float32.",
            [&](const std::string& text) { options.settings.type = parse_dtype(text); });
  add_value(
      command, "--device", "DEVICE",
      "Memory of the buffers: host, a device (sycl:0, sycl:0.1), a device module whose devices are distributed over "
      "the ranks (sycl), a list that is distributed over the ranks (host,sycl:0), or auto: GPUs if there are any, "
      "else the host. Default: host.",
      [&](const std::string& text) { options.settings.device = text; });
  add_number(command, "--concurrent", options.settings.concurrent, 1, 64,
             "Communicators of the same ranks that carry out the operation at the same time. Default: 1.");
  add_value(
      command, "--compute", "TIME",
      "Also time steps of a program: a computation of this length on each rank, then the operation; and the "
      "computation alone. tutti report shows how both scale with the ranks. Default: no steps.",
      [&](const std::string& text) { options.settings.compute_seconds = seconds_of(parse_positive_duration(text)); });
}

void add_run_control(CLI::App& command, SweepOptions& options) {
  add_number(command, "--runs", options.runs, 1, 1000,
             "Visits of every cell, each in a new job. The time of a cell is the median of its runs, shown with a "
             "confidence interval. Default: 1.");
  add_value(command, "--seed", "N",
            "Measure the cells of a job in a random order, always the same one for a seed; random: a new one. Default: "
            "sizes ascend in a single run; with several, random.",
            [&](const std::string& text) { options.seed = parse_seed(text); });
  add_value(command, "--resume", "FILE",
            "Measure what is missing or failed in the JSON file of an earlier sweep with the same settings, which are "
            "taken from it. Without --json, the results replace the file.",
            [&](const std::string& text) { options.resume = text; });
  add_value(command, "--soak", "TIME",
            "Repeat rounds of all cells until the time, e.g. 10min, is over, or until Ctrl-C. Drift of the times and "
            "growth of the ranks' memory are reported.",
            [&](const std::string& text) { options.soak = parse_positive_duration(text); });
}

void add_measurement(CLI::App& command, SweepOptions& options) {
  SweepSettings& settings = options.settings;
  add_number<std::uint64_t>(command, "--iterations", settings.iterations, 1, 1000000,
                            "Timed calls per cell. Default: as many as fit in --seconds-per-cell, 3 to 1000.");
  add_value(
      command, "--seconds-per-cell", "TIME",
      "Time to spend on the timed calls of a cell. Default: 1s, or less so that a run ends within about 4 minutes.",
      [&](const std::string& text) { options.seconds_per_cell = seconds_of(parse_positive_duration(text)); });
  add_value(command, "--timeout-per-cell", "TIME",
            "Time without progress after which a cell counts as hung. Default: 60s.", [&](const std::string& text) {
              settings.cell_timeout = parse_positive_duration(text);
              settings.timeout_text = concat(seconds_of(settings.cell_timeout), " s");
            });
  command.add_flag("--watch", options.watch,
                   "Show the bandwidths as a bar chart, which grows on a terminal while the sweep runs.");
  command.add_flag("--quiet", options.quiet, "Do not show progress and remarks on standard error.");
}

template <typename Values, typename Text>
std::string listed(const Values& values, const Text& text) {
  std::vector<std::string> words;
  for (const auto& value : values) words.push_back(concat(text(value)));
  return join(words, ",");
}

}  // namespace

SweepOptions::SweepOptions()
    : ops{OpKind::allreduce}, sizes(parse_sizes("1M..512M")), ranks{std::clamp(this_host().cores, 2, 4)} {}

const CommandText& sweep_text() { return kText; }

void add_sweep_options(CLI::App& command, SweepOptions& options) {
  add_selection(command, options);
  add_run_control(command, options);
  add_measurement(command, options);
}

std::uint64_t random_seed() { return std::random_device{}(); }

std::vector<std::string> settings_of(const SweepOptions& options) {
  const auto same = [](const auto& value) { return value; };
  std::vector<std::string> settings = {
      concat("ops=", listed(options.ops, [](OpKind op) { return name(op); })),
      concat("sizes=", listed(options.sizes, same)),
      concat("ranks=", listed(options.ranks, same)),
      concat("in-place=", listed(options.in_place, [](bool yes) { return yes ? "yes" : "no"; })),
      concat("dtype=", name(options.settings.type)),
      concat("device=", options.settings.device),
      concat("concurrent=", options.settings.concurrent),
      concat("runs=", options.runs),
  };
  const auto add = [&](bool is_set, const std::string& setting) {
    if (is_set) settings.push_back(setting);
  };
  add(!options.backends.empty(), concat("backends=", join(options.backends, ",")));
  add(options.seed.has_value(), concat("seed=", options.seed.value_or(0)));
  add(options.settings.iterations > 0, concat("iterations=", options.settings.iterations));
  add(options.seconds_per_cell.has_value(), concat("seconds-per-cell=", options.seconds_per_cell.value_or(0)));
  add(options.settings.compute_seconds > 0, concat("compute=", options.settings.compute_seconds));
  add(options.soak.count() > 0, concat("soak=", seconds_of(options.soak)));
  return settings;
}

void apply_settings(CLI::App& command, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::size_t sign = std::min(setting.find('='), setting.size());
    CLI::Option* option = command.get_option_no_throw("--" + setting.substr(0, sign));
    if (option == nullptr || sign == setting.size())
      throw UsageError(concat("setting \"", printable(setting), "\" is not one of tutti sweep"));
    if (option->count() > 0) continue;
    try {
      option->add_result(setting.substr(sign + 1));
      option->run_callback();
    } catch (const CLI::Error& error) {
      throw UsageError(concat("setting \"", printable(setting), "\": ", error.what()));
    }
  }
}

}  // namespace tutti::tools
