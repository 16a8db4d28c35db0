#include <algorithm>

#include "command_line.hpp"
#include "launch/local_socket.hpp"
#include "record/record_check.hpp"
#include "record/record_reader.hpp"
#include "replay/replay_player.hpp"
#include "text/text.hpp"
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
};

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
  report.send(concat("total ", round.wall_us, ' ', round.busy_us, ' ', round.waited_us, ' ', round.last));
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
  std::vector<PlayedRound> rounds;
  for (int i = 0; i < options.rounds; ++i) rounds.push_back(player.play({.gap_factor = options.gaps, .sign = sign}));
  send_round(report, rounds[median_round(comm, rounds)], counted);
  comm.barrier();
}

int run_rank_of_replay(const RankOptions& options) {
  LineClient report(options.report);
  try {
    const replay::JobRecord record = replay::load_record(options.file);
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
  command.callback([&invocation, options] { invocation.exit_code = run_rank_of_replay(*options); });
}

}  // namespace tutti::tools
