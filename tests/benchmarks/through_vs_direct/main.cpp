// Compares every library through tutti with the same library called directly: same launcher, options and settings, in
// turns. See docs/performance.md.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>

#include "analysis/statistics.hpp"
#include "command.hpp"
#include "command_line.hpp"
#include "comparison.hpp"
#include "launch/process.hpp"
#include "peers/foreign_load.hpp"
#include "peers/rank_group.hpp"
#include "sweep/plan/sizes.hpp"
#include "text/output_file.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::bench {
namespace {

using tools::concat;

constexpr int kRanks = 2;
constexpr double kBatchSeconds = 0.02;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

struct Options {
  std::string sizes = "8,64K,1M,64M";
  std::vector<std::string> libraries = {"mpi-openmpi", "mpi-mpich", "mpi-intel", "ccl"};
  int rounds = 21;
  std::string thread_level = "multiple";
  std::string json;
  bool quick = false;
  bool check = false;
};

void add_options(CLI::App& app, Options& options) {
  app.set_help_flag("-h,--help", "Show this text.");
  app.add_option("--sizes", options.sizes, "Input bytes of a rank. Default: 8,64K,1M,64M.")->type_name("LIST");
  tools::add_value(app, "--libraries", "LIST", "Measure only these: mpi-openmpi, mpi-mpich, mpi-intel, ccl.",
                   [&](const std::string& text) { options.libraries = tools::split(text, ','); });
  tools::add_number(app, "--rounds", options.rounds, 1, 1000,
                    "Rounds per size; both ways have one turn per round. Default: 21.");
  app.add_option("--thread-level", options.thread_level,
                 "Thread level that both ways ask of MPI: multiple, which is tutti's default, or single.")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"single", "multiple"}));
  app.add_flag("--quick", options.quick, "8 B and 64 KiB, 1 round; checks only that all run and give right results.");
  app.add_flag("--check", options.check, "Exit with 1 if a target is missed by more than the spread.");
  app.add_option("--json", options.json, "Write all numbers to this file.")->type_name("FILE");
}

/// The two ways to a library. The ranks of both stay alive and sleep between their turns.
class Pair {
 public:
  Pair(const Contestant& direct, int rounds)
      : library_(direct.key),
        rounds_(rounds),
        direct_(direct, kRanks, kPatience),
        through_(through_tutti(direct), kRanks, kPatience) {}

  [[nodiscard]] Comparison measure(std::uint64_t bytes) {
    Comparison result{.library = library_, .bytes = bytes};
    double direct_cost = 0;
    double through_cost = 0;
    turn(direct_, bytes, true, direct_cost, result.direct);
    turn(through_, bytes, true, through_cost, result.through);
    for (int round = 0; round < rounds_ && result.problem().empty(); ++round) {
      const bool direct_first = round % 2 == 0;
      if (direct_first) turn(direct_, bytes, false, direct_cost, result.direct);
      turn(through_, bytes, false, through_cost, result.through);
      if (!direct_first) turn(direct_, bytes, false, direct_cost, result.direct);
    }
    direct_.release();
    through_.release();
    return result;
  }

 private:
  static constexpr std::chrono::seconds kPatience{60};

  // The first turn checks the result and shows the cost of a call; it is not counted.
  void turn(RankGroup& group, std::uint64_t bytes, bool first, double& cost, Sample& sample) const {
    const bool is_short = bytes < kMebibyte;
    const int calls =
        first ? (is_short ? 10 : 1) : static_cast<int>(std::clamp(kBatchSeconds / std::max(cost, 1e-8), 2.0, 1000.0));
    // New memory in every turn of large messages, because the pages of a buffer matter as much as the library.
    const BatchResult result = group.run({.workload = {.op = Op::allreduce, .bytes = bytes, .ranks = kRanks},
                                          .warm_ups = first ? 1 : (is_short ? std::clamp(calls / 5, 2, 20) : 2),
                                          .calls = calls,
                                          .check = first,
                                          .release = bytes >= 8 * kMebibyte});
    cost = result.seconds_per_call;
    if (!result.problem.empty()) {
      sample.problem = result.problem;
    } else if (!first) {
      sample.rounds_us.push_back(tools::percentile(result.times_us, 0.5));
      sample.calls = calls;
    }
  }

  std::string library_;
  int rounds_;
  RankGroup direct_;
  RankGroup through_;
};

std::vector<Contestant> chosen(const Options& options) {
  const std::vector<Contestant> all = find_contestants();
  std::vector<Contestant> found;
  for (const std::string& key : options.libraries) {
    const auto one = std::ranges::find_if(
        all, [&](const Contestant& c) { return c.key == key && c.kind == Contestant::Kind::peer; });
    if (one == all.end()) throw tools::UsageError(concat("unknown library \"", key, "\"; see --help"));
    found.push_back(*one);
    // oneCCL asks for MPI_THREAD_MULTIPLE itself.
    if (key != "ccl") found.back().environment.emplace_back("TUTTI_MPI_THREAD_LEVEL", options.thread_level);
  }
  return found;
}

int run(const CLI::App& app, Options& options) {
  if (options.quick && app.count("--sizes") == 0) options.sizes = "8,64K";
  if (options.quick && app.count("--rounds") == 0) options.rounds = 1;
  const std::vector<std::uint64_t> sizes = tools::parse_sizes(options.sizes);
  const std::vector<Contestant> contestants = chosen(options);
  watch_for_interrupt();
  tools::adopt_orphans();
  const ForeignLoad load;
  std::vector<Comparison> comparisons;
  std::string absent;
  bool interrupted = false;
  try {
    for (const Contestant& contestant : contestants) {
      if (!contestant.usable()) {
        absent += concat("  ", contestant.key, " was not measured: ", contestant.absent, '\n');
        continue;
      }
      Pair pair(contestant, options.rounds);
      for (const std::uint64_t bytes : sizes) comparisons.push_back(pair.measure(bytes));
    }
  } catch (const Interrupted&) {
    interrupted = true;
  }
  tools::end_descendants();
  const tools::Terminal terminal(STDOUT_FILENO);
  tools::write_all(STDOUT_FILENO, concat("allreduce of float32 sums, ", kRanks, " ranks, ", options.rounds,
                                         " rounds, MPI thread level ", options.thread_level,
                                         "; ratio: direct time / time through tutti, the median over the rounds\n",
                                         table(comparisons, terminal), absent, "  other programs kept ",
                                         tools::three_digits(load.cores()), " cores busy\n"));
  if (!options.json.empty()) tools::write_file_atomically(options.json, to_json(contestants, comparisons));
  if (interrupted) return tools::kExitInterrupted;
  const bool failed =
      std::ranges::any_of(comparisons, [](const Comparison& one) { return one.state() == Comparison::State::failed; });
  return failed || (options.check && !passes(comparisons)) ? tools::kExitFailure : 0;
}

int parse_and_run(int count, char** words) {
  CLI::App app("", "through_vs_direct");
  Options options;
  add_options(app, options);
  app.formatter(std::make_shared<tools::HelpFormatter>(
      "through_vs_direct [options]",
      "Measures every library through tutti and called directly, in turns, started by the same launcher with the same "
      "settings. Prints the times, their ratios and the targets."));
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    return tools::write_all(STDOUT_FILENO, app.help()) ? 0 : tools::kExitFailure;
  } catch (const CLI::ParseError& error) {
    throw tools::UsageError(error.what());
  }
  return run(app, options);
}

int complain(std::string_view message, int code) {
  tools::write_all(STDERR_FILENO, concat("through_vs_direct: ", message, '\n'));
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
