#include <algorithm>
#include <functional>

#include "command_line.hpp"
#include "launch/local_socket.hpp"
#include "record/record_check.hpp"
#include "record/record_prefix.hpp"
#include "record/record_reader.hpp"
#include "replay/replay_player.hpp"
#include "text/text.hpp"
#include "tutti/horovod.hpp"
#include "tutti/tutti.hpp"

namespace tutti::tools {
namespace {

struct RankOptions {
  std::string report;
  std::string file;
  int ranks = 0;
  int rounds = 1;
  double gaps = 1;
  bool check = false;
  bool prefix = false;
  bool tune = false;
};

// A search of the engine ends long before.
constexpr int kMostTuningRounds = 20'000;

/// The round whose duration, that of its slowest rank, is in the middle.
std::size_t median_round(const Communicator& comm, const std::vector<PlayedRound>& rounds) {
  std::vector<double> walls;
  for (const PlayedRound& round : rounds) walls.push_back(round.wall_us);
  comm.allreduce(Buffer(walls), {.op = Reduction::max});
  std::vector<std::size_t> order(walls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return walls[i]; });
  return order[(order.size() - 1) / 2];
}

void send_round(LineClient& report, const PlayedRound& round, const PlayedRound& counted) {
  for (std::size_t i = 0; i < round.rows.size(); ++i) {
    const RowTotals& row = round.rows[i];
    if (row.calls > 0)
      report.send(concat("row ", i, ' ', row.calls, ' ', row.time_us, ' ', counted.rows[i].host_calls));
  }
  for (const auto& [kind, sizes] : round.sizes) {
    for (const auto& [size_class, totals] : sizes) {
      report.send(
          concat("size ", name(kind), ' ', size_class, ' ', totals.count, ' ', totals.bytes, ' ', totals.time_us));
    }
  }
  report.send(concat("total ", round.wall_us, ' ', round.busy_us, ' ', round.waited_us, ' ', round.last));
}

/// Plays rounds until the engine's search for the best parameters has ended, and reports these as a line of upstream's
/// log.
void tune(const Communicator& comm, const std::function<void()>& play, LineClient& report) {
  const horovod::Engine engine(comm);
  for (int round = 0;; ++round) {
    // The ranks learn of the end one after the other.
    int is_active = engine.autotune().is_active ? 1 : 0;
    comm.allreduce(Buffer(&is_active, 1), {.op = Reduction::max});
    if (is_active == 0) break;
    if (round == kMostTuningRounds)
      throw Error(ErrorCode::unsupported, concat("autotune has not ended after ", kMostTuningRounds, " rounds"));
    play();
  }
  const auto best = engine.autotune();
  report.send(concat("tuned 0,0,0, ", best.cache ? 1 : 0, ',', best.cycle_ms, ',',
                     static_cast<double>(best.fusion_threshold) / 0x1p20, ',', best.best_score));
}

void play_rounds(const RankOptions& options, const replay::JobRecord& record, const Communicator& comm,
                 LineClient& report) {
  const replay::ReplayPlan plan = replay::check(record, options.ranks);
  const ReplayRows rows = rows_of(record, options.ranks);
  ReplayPlayer player(record, plan, rows, comm);
  std::uint64_t done = 0;
  auto last_sign = std::chrono::steady_clock::now();
  const auto sign = [&](std::chrono::steady_clock::time_point now) {
    ++done;
    if (now - last_sign < std::chrono::seconds(1)) return;
    last_sign = now;
    report.send(concat("progress ", done));
  };
  // Connections, buffers and caches are made in a first round, which is not timed.
  const PlayedRound counted =
      player.play({.gap_factor = 0, .checks = options.check, .counts_calls = true, .sign = sign});
  if (options.tune) {
    tune(
        comm, [&] { (void)player.play({.gap_factor = options.gaps, .sign = sign}); }, report);
  }
  std::vector<PlayedRound> rounds;
  for (int i = 0; i < options.rounds; ++i) rounds.push_back(player.play({.gap_factor = options.gaps, .sign = sign}));
  send_round(report, rounds[median_round(comm, rounds)], counted);
  comm.barrier();
}

int run_rank_of_replay(const RankOptions& options) {
  LineClient report(options.report);
  try {
    replay::JobRecord record = replay::load_record(options.file);
    if (options.prefix) record = replay::common_prefix(std::move(record)).record;
    const Communicator comm = world(replay_options(record));
    if (comm.size() != options.ranks) {
      throw Error(ErrorCode::system, concat("tutti replay started ", options.ranks, " ranks, but backend ",
                                            comm.backend(), " sees ", comm.size()));
    }
    report.send(concat("rank ", comm.rank(), ' ', comm.backend()));
    play_rounds(options, record, comm, report);
    report.send("done");
  } catch (const std::exception& error) {
    std::string message = error.what();
    std::ranges::replace(message, '\n', ' ');
    report.send("failed " + message);
    return kExitFailure;
  }
  return 0;
}

}  // namespace

void add_replay_rank_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_internal_command(tutti, "replay-rank");
  const auto options = std::make_shared<RankOptions>();
  command.add_option("--report", options->report)->required();
  command.add_option("--file", options->file)->required();
  command.add_option("--ranks", options->ranks)->required();
  command.add_option("--rounds", options->rounds);
  command.add_option("--gaps", options->gaps);
  command.add_flag("--check", options->check);
  command.add_flag("--prefix", options->prefix);
  command.add_flag("--tune", options->tune);
  command.callback([&invocation, options] { invocation.exit_code = run_rank_of_replay(*options); });
}

}  // namespace tutti::tools
