// Compares auto with every backend that is usable under the same launcher: allreduce in one process per rank, in turns.
//
// usage: tutti run -n 2 -- auto_vs_best [--sizes SIZES] [--rounds N] [--check RATIO]
//
// --check RATIO: exits with 1 if the best backend's time divided by auto's is below RATIO at any size. auto uses the
// tuning file of the environment, see docs/tuning.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/statistics.hpp"
#include "sweep/plan/sizes.hpp"
#include "text/text.hpp"
#include "tutti/info.hpp"
#include "tutti/tutti.hpp"
#include "usage_error.hpp"

namespace tutti::bench {
namespace {

struct Options {
  std::string sizes = "1K..64M";
  int rounds = 15;
  double batch_seconds = 0.01;
  double check = 0;
};

struct Contender {
  std::string name;
  Communicator comm;
  std::vector<double> rounds_us = {};
};

/// A communicator of every backend that all ranks can use.
std::vector<Contender> find_contenders() {
  std::vector<Contender> all;
  all.push_back({"auto", world({.config = Config().set("TUTTI_BACKEND", "auto")})});
  std::set<std::string> names;
  for (const BackendInfo& backend : unprobed_backends()) {
    if (backend.module != nullptr && !backend.module->nests) names.insert(backend.name);
  }
  for (const std::string& name : names) {
    try {
      const Communicator comm = world({.config = Config().set("TUTTI_BACKEND", name)});
      all.push_back({std::string(comm.backend()), comm});
    } catch (const Error& error) {
      if (all.front().comm.rank() == 0) std::printf("%s cannot be compared: %s\n", name.c_str(), error.what());
    }
  }
  return all;
}

/// Seconds per call on the slowest rank.
double batch(const Communicator& comm, std::vector<float>& data, std::vector<float>& out, int calls,
             const Communicator& clock) {
  clock.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) comm.allreduce(data, out);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  clock.allreduce(Buffer(&seconds, 1), {.op = Reduction::max});
  return seconds;
}

/// Fills rounds_us of every contender; each begins in some rounds.
void measure(std::vector<Contender>& contenders, std::uint64_t bytes, const Options& options,
             const Communicator& clock) {
  const std::size_t count = std::max<std::size_t>(bytes / sizeof(float), 1);
  std::vector<float> data(count, 1.0F);
  std::vector<float> out(count);
  double slowest = 0;
  for (Contender& contender : contenders) {
    contender.rounds_us.clear();
    (void)batch(contender.comm, data, out, 2, clock);  // the first call may create a leaf
    slowest = std::max(slowest, batch(contender.comm, data, out, 3, clock));
  }
  const int calls = static_cast<int>(std::clamp(options.batch_seconds / slowest, 1.0, 2000.0));
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      Contender& contender = contenders[(i + static_cast<std::size_t>(round)) % contenders.size()];
      contender.rounds_us.push_back(batch(contender.comm, data, out, calls, clock) * 1e6);
    }
  }
}

double median(const std::vector<double>& values) { return tools::percentile(values, 0.5); }

/// The best backend's time divided by auto's, the median over the rounds; prints a line.
double report(const std::vector<Contender>& contenders, std::uint64_t bytes, bool prints) {
  const Contender& own = contenders.front();
  const Contender* best = &contenders[1];
  for (const Contender& contender : contenders) {
    if (&contender != &own && median(contender.rounds_us) < median(best->rounds_us)) best = &contender;
  }
  std::vector<double> ratios;
  for (std::size_t round = 0; round < own.rounds_us.size(); ++round) {
    ratios.push_back(best->rounds_us[round] / own.rounds_us[round]);
  }
  const double ratio = median(ratios);
  if (prints) {
    std::string line =
        tools::concat(tools::format_bytes(bytes), ": auto takes ", own.comm.explain(OpKind::allreduce, bytes).backend,
                      ", best is ", best->name, ", ratio ", tools::three_digits(ratio), ";");
    for (const Contender& contender : contenders) {
      line += tools::concat(" ", contender.name, " ", tools::format_time_us(median(contender.rounds_us)));
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return ratio;
}

int run(const Options& options) {
  std::vector<Contender> contenders = find_contenders();
  if (contenders.size() < 2) throw Error(ErrorCode::backend_unavailable, "there is no backend to compare auto with");
  // Of its own, so that the clock disturbs no contender's state.
  const auto native = std::ranges::find(contenders, "native", &Contender::name);
  const std::string of_clock = (native != contenders.end() ? *native : contenders[1]).name;
  const Communicator clock = world({.config = Config().set("TUTTI_BACKEND", of_clock), .name = "clock"});
  double least = 1e9;
  for (const std::uint64_t bytes : tools::parse_sizes(options.sizes)) {
    measure(contenders, bytes, options, clock);
    least = std::min(least, report(contenders, bytes, clock.rank() == 0));
  }
  clock.allreduce(Buffer(&least, 1), {.op = Reduction::min});
  if (clock.rank() == 0) std::printf("lowest ratio: %.3f\n", least);
  return least < options.check ? 1 : 0;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  using namespace tutti;
  bench::Options options;
  CLI::App app{"Compares auto with the backends that are usable under the same launcher."};
  app.add_option("--sizes", options.sizes, "Message sizes. Default: 1K..64M.");
  app.add_option("--rounds", options.rounds, "Rounds per size. Default: 15.")->check(CLI::Range(1, 1000));
  app.add_option("--batch-seconds", options.batch_seconds, "Time of a turn. Default: 0.01.")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--check", options.check, "Exit with 1 below this ratio.");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "auto_vs_best: %s\n", error.what());
  } catch (const tools::UsageError& error) {
    std::fprintf(stderr, "auto_vs_best: %s\n", error.what());
  }
  return 2;
}
