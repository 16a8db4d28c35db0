// Compares tutti's native engine with other libraries, each called directly, and with the limit of the memory
// bandwidth. See docs/performance.md.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>

#include "command.hpp"
#include "command_line.hpp"
#include "launch/process.hpp"
#include "measurement.hpp"
#include "peers/foreign_load.hpp"
#include "plot.hpp"
#include "report.hpp"
#include "sweep/plan/sizes.hpp"
#include "text/output_file.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::bench {
namespace {

using tools::concat;
using tools::UsageError;

constexpr std::string_view kAllSizes = "8,64,512,4K,16K,32K,64K,256K,1M,4M,16M,64M,128M,512M";
constexpr std::string_view kFewSizes = "8,1K,32K,1M,16M";
constexpr std::string_view kTinySizes = "8,64K";

struct Options {
  Plan plan;
  std::string sizes;
  std::vector<std::string> peers;
  std::string json;
  std::string svg;
  bool quick = false;
  bool check_only = false;
  bool quiet = false;
};

void add_options(CLI::App& app, Options& options) {
  using tools::add_value;
  app.set_help_flag("-h,--help", "Show this text.");
  add_value(app, "--ops", "LIST",
            "Operations: allreduce, allgather, broadcast, reduce_scatter, alltoall, gather, scatter, message (a send "
            "and its recv), barrier. Default: all.",
            [&](const std::string& text) {
              options.plan.ops.clear();
              for (const std::string& word : tools::split(text, ',')) {
                const auto op = parse_op(word);
                if (!op) throw UsageError(concat("unknown operation \"", word, '"'));
                options.plan.ops.push_back(*op);
              }
            });
  app.add_option("--sizes", options.sizes,
                 concat("Input bytes of a rank: \"1M\", \"8..512M\", \"1K,32K\". Default: ", kAllSizes, '.'))
      ->type_name("LIST");
  add_value(app, "--ranks", "LIST", "Numbers of ranks. Default: 2,4,8.", [&](const std::string& text) {
    options.plan.ranks.clear();
    for (const std::string& word : tools::split(text, ',')) {
      const int ranks = std::atoi(word.c_str());
      if (ranks < 2 || ranks > 16) throw UsageError(concat('"', word, "\" is not a number from 2 to 16"));
      options.plan.ranks.push_back(ranks);
    }
  });
  add_value(app, "--peers", "LIST",
            "Measure only these: native, native-allocate, native-threads, mpi-openmpi, mpi-mpich, mpi-intel, ccl, "
            "limit-plain, limit-streaming.",
            [&](const std::string& text) { options.peers = tools::split(text, ','); });
  tools::add_number(app, "--rounds", options.plan.rounds, 1, 1000,
                    "Rounds per cell; each library has one turn per round. Default: 21.");
  app.add_option("--batch-seconds", options.plan.batch_seconds, "Approximate duration of a turn. Default: 0.005.")
      ->type_name("S")
      ->check(CLI::Range(0.0001, 100.0));
  app.add_option_function<int>(
         "--patience", [&](const int& seconds) { options.plan.patience = std::chrono::seconds(seconds); },
         "Seconds after which a turn counts as failed. Default: 60.")
      ->type_name("S")
      ->check(CLI::Range(1, 86400));
  app.add_flag("--fresh-buffers", options.plan.fresh_buffers,
               "New memory for each call, as in programs without warm buffers.");
  app.add_flag("--quick", options.quick, "Few sizes, 2 ranks, 5 rounds; takes less than a minute.");
  app.add_flag("--check-only", options.check_only,
               "Two sizes, 1 round; checks only that all run and give right results.");
  app.add_option("--json", options.json, "Write all numbers to this file.")->type_name("FILE");
  app.add_option("--svg", options.svg, "Draw bandwidth over size into this file.")->type_name("FILE");
  app.add_flag("--quiet", options.quiet, "Show no progress.");
}

void apply_presets(const CLI::App& app, Options& options) {
  Plan& plan = options.plan;
  const auto given = [&](const char* name) { return app.count(name) > 0; };
  if (options.check_only) plan.narrow_types = false;
  if (options.check_only || options.quick) {
    if (options.sizes.empty()) options.sizes = options.check_only ? kTinySizes : kFewSizes;
    if (!given("--ranks")) plan.ranks = {2};
    if (!given("--rounds")) plan.rounds = options.check_only ? 1 : 5;
    if (!given("--batch-seconds") && options.check_only) plan.batch_seconds = 0.002;
  }
  plan.sizes = tools::parse_sizes(options.sizes.empty() ? kAllSizes : options.sizes);
}

Results make_results(const Options& options) {
  Results results;
  results.machine = tools::this_machine();
  for (Contestant& contestant : find_contestants()) {
    if (options.peers.empty() || std::ranges::find(options.peers, contestant.key) != options.peers.end()) {
      results.contestants.push_back(std::move(contestant));
    }
  }
  for (const std::string& key : options.peers) {
    if (!std::ranges::any_of(results.contestants, [&](const Contestant& c) { return c.key == key; })) {
      throw UsageError(concat("unknown peer \"", key, "\"; see --help"));
    }
  }
  results.versions.resize(results.contestants.size());
  return results;
}

// A peer that fails or gives wrong results is a result of the benchmark; the same in tutti or a limit is a failure.
int exit_code(const Results& results) {
  for (const Cell& cell : results.cells) {
    for (std::size_t i = 0; i < cell.samples.size(); ++i) {
      if (results.contestants[i].kind == Contestant::Kind::peer) continue;
      if (!cell.samples[i].problem.empty() && cell.samples[i].problem != kDoesNotFit) return tools::kExitFailure;
    }
  }
  return 0;
}

int run(const CLI::App& app, Options& options) {
  apply_presets(app, options);
  Results results = make_results(options);
  watch_for_interrupt();
  tools::adopt_orphans();
  bool interrupted = false;
  const ForeignLoad load;
  {
    Measurement measurement(options.plan, results, options.quiet);
    try {
      measurement.run();
    } catch (const Interrupted&) {
      interrupted = true;
    }
  }
  tools::end_descendants();
  results.foreign_load = load.cores();
  const tools::Terminal terminal(STDOUT_FILENO);
  tools::write_all(STDOUT_FILENO, header(results, options.plan, terminal) + tables(results, terminal));
  if (!options.json.empty()) tools::write_file_atomically(options.json, to_json(results, options.plan));
  if (!options.svg.empty()) tools::write_file_atomically(options.svg, plot(results));
  if (interrupted) {
    tools::write_all(STDERR_FILENO, "native_vs_peers: interrupted; the tables above show the results so far\n");
    return tools::kExitInterrupted;
  }
  return exit_code(results);
}

int parse_and_run(int count, char** words) {
  CLI::App app("", "native_vs_peers");
  Options options;
  add_options(app, options);
  app.formatter(std::make_shared<tools::HelpFormatter>(
      "native_vs_peers [options]",
      "Measures tutti's native engine and other libraries, each called directly, in turns on this machine, and the "
      "limit of the memory bandwidth. Prints tables of times with their spread, ratios, and the project's targets."));
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    return tools::write_all(STDOUT_FILENO, app.help()) ? 0 : tools::kExitFailure;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  return run(app, options);
}

int complain(std::string_view message, int code) {
  tools::write_all(STDERR_FILENO, concat("native_vs_peers: ", message, '\n'));
  return code;
}

}  // namespace
}  // namespace tutti::bench

int main(int count, char** words) {
  using namespace tutti;
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return bench::parse_and_run(count, words);
  } catch (const tools::UsageError& error) {
    return bench::complain(error.what(), tools::kExitUsage);
  } catch (const std::exception& error) {
    return bench::complain(error.what(), tools::kExitFailure);
  }
}
