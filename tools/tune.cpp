#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "results/results_json.hpp"
#include "sweep/plan/sizes.hpp"
#include "text/output_file.hpp"
#include "text/table.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tuning/composition_sweep.hpp"
#include "tuning/tuning_builder.hpp"
#include "tuning/tuning_sweep.hpp"
#include "tutti/error.hpp"
#include "tutti/tuning.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct TuneOptions {
  std::vector<std::string> from;  ///< result files; empty: measure
  std::string output;             ///< empty: the user's file
  TuningSweepOptions sweep;
};

std::vector<OpKind> parse_ops(const std::string& text) {
  std::vector<OpKind> ops;
  for (const std::string& word : split(text, ',')) {
    const auto op = parse_op_kind(word);
    if (!op || !is_sweepable(*op)) throw UsageError(concat("operation \"", printable(word), "\" cannot be measured"));
    if (std::ranges::find(ops, *op) == ops.end()) ops.push_back(*op);
  }
  if (ops.empty()) throw UsageError("no operation is given; accepted: e.g. allreduce,allgather");
  return ops;
}

std::string range_text(const TuningRow& row) {
  return concat(format_bytes(row.from), row.to == kNoLimit ? " and more" : " to " + format_bytes(row.to));
}

/// "native", "native, two halves"
std::string backend_text(const TunedBackend& backend) {
  if (backend.composition == Composition::none) return backend.spec;
  return concat(backend.spec, ", ", traits(backend.composition).description);
}

/// The rows for people.
std::string table_text(const TuningTable& tuning) {
  Table table({{"operation"},
               {"ranks"},
               {"sizes"},
               {"backend"},
               {"margin", base::Align::right},
               {"certainty", base::Align::right},
               {"next best"}});
  for (const TuningRow& row : tuning.rows) {
    table.add({concat(name(row.op), row.types == TypeClass::any ? "" : concat(", ", name(row.types))),
               std::to_string(row.ranks_from), range_text(row), backend_text(row.backends.front()),
               three_digits(row.margin * 100) + " %", three_digits(row.certainty * 100) + " %",
               row.backends.size() > 1 ? backend_text(row.backends[1]) : ""});
  }
  const Terminal terminal(STDOUT_FILENO);
  return table.render(terminal, terminal.columns());
}

std::string output_path(const TuneOptions& options) {
  const std::string path = options.output.empty() ? user_tuning_path() : options.output;
  if (path.empty()) throw UsageError("there is no home folder for the tuning file; give --output FILE");
  return path;
}

/// Opened before the measurement, so that an unwritable file is reported at once.
std::unique_ptr<OutputFile> open_output(const std::string& path, bool is_default) {
  if (is_default) std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  try {
    return std::make_unique<OutputFile>(path);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

/// Entries of engines in a file that is about to be replaced.
std::vector<TunedEngine> engines_in(const std::string& path) {
  Config config;
  config.set("TUTTI_TUNING", path);
  const LoadedTuning before = load_tuning(config);
  return before.table ? before.table->engines : std::vector<TunedEngine>();
}

int tune(const TuneOptions& options) {
  const std::string path = output_path(options);
  std::vector<SweepResults> results;
  std::vector<ComposedCell> composed;
  for (const std::string& file : options.from) results.push_back(read_results(file));
  const std::vector<TunedEngine> engines = engines_in(path);
  const std::unique_ptr<OutputFile> output = open_output(path, options.output.empty());
  if (options.from.empty()) {
    std::optional<SweepResults> measured = measure_for_tuning(options.sweep);
    if (measured) {
      auto found = measure_compositions(options.sweep, *measured);
      if (!found) measured.reset();
      if (found) composed = std::move(*found);
    }
    if (!measured) {
      write_all(STDERR_FILENO, "tutti tune: interrupted; no tuning file was written\n");
      return kExitInterrupted;
    }
    results.push_back(std::move(*measured));
  }
  TuningTable table = build_tuning(results, composed);
  table.engines = engines;
  output->write(to_text(table));
  write_result(concat(table_text(table), "\n", path, " is written; auto uses it on this machine from now on\n"));
  return 0;
}

}  // namespace

void add_tune_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti,
      {.name = "tune",
       .summary = "Measure which backend is the fastest, and write the table that auto chooses by.",
       .usage = "tutti tune [options]",
       .description =
           "Measures all usable backends, or reads the results of tutti sweep --json, and writes a tuning file: per "
           "operation, class of types, number of ranks and range of sizes the fastest backend. Jobs without "
           "TUTTI_BACKEND use it from then on.",
       .footer = "Examples:\n"
                 "  tutti tune                                 measure, and write the user's file\n"
                 "  tutti tune --from a.json b.json            learn from results of tutti sweep\n"
                 "  tutti tune -n 4 --output /etc/tutti/tuning\n"
                 "  tutti explain allreduce 4M                 what auto does with it\n"});
  const auto options = std::make_shared<TuneOptions>();
  TuningSweepOptions& sweep = options->sweep;
  command
      .add_option("--from", options->from, "Result files of tutti sweep --json to learn from, instead of measuring.")
      ->type_name("FILE...");
  add_value(command, "-o,--output", "FILE", "The tuning file. Default: tutti/tuning in the user's folder of settings.",
            [options](const std::string& text) {
              if (text.empty()) throw UsageError("the path is empty");
              options->output = text;
            });
  add_value(command, "--ops", "LIST",
            "Operations to measure. Default: allreduce,allgather,reduce_scatter,broadcast,reduce,gather,alltoall.",
            [&sweep](const std::string& text) { sweep.ops = parse_ops(text); });
  add_value(command, "--backends", "LIST", "Backends to measure. Default: all usable ones that stand on no other one.",
            [&sweep](const std::string& text) {
              for (const std::string& word : split(text, ',')) sweep.backends.push_back(check_spec(word));
              if (sweep.backends.empty()) throw UsageError("no backend is given; accepted: " + accepted_specs());
            });
  add_value(command, "--sizes", "SIZES", "Message sizes, as in tutti sweep. Default: 1K..64M.",
            [&sweep](const std::string& text) { sweep.sizes = parse_sizes(text); });
  add_number(command, "-n,--ranks", sweep.ranks, 1, 1024,
             "Number of ranks. Default: one per core, at least 2 and at most 4.");
  add_number(command, "--runs", sweep.runs, 1, 100, "Runs of each backend, in turns. Default: 3.");
  add_value(command, "--dtype", "TYPE", "Element type, which stands for its class. Default: float32.",
            [&sweep](const std::string& text) {
              const auto type = parse_data_type(text);
              if (!type) throw UsageError(concat("unknown data type \"", printable(text), '"'));
              sweep.type = *type;
            });
  add_value(command, "--device", "DEVICE", "Memory of the buffers, as in tutti sweep. Default: host.",
            [&sweep](const std::string& text) { sweep.device = text; });
  add_value(command, "--seconds-per-cell", "TIME", "Time to spend on a size in one run. Default: 100ms.",
            [&sweep](const std::string& text) {
              const auto duration = parse_duration(text);
              if (!duration || duration->count() == 0)
                throw UsageError(concat('"', printable(text), "\" is not a positive duration; accepted: 1s, 250ms"));
              sweep.seconds_per_cell = std::chrono::duration<double>(*duration).count();
            });
  command.add_flag("--quiet", sweep.quiet, "Do not show progress.");
  command.callback([&invocation, options] { invocation.exit_code = tune(*options); });
}

}  // namespace tutti::tools
