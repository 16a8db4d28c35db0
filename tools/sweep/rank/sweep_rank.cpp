#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "command_line.hpp"
#include "launch/local_socket.hpp"
#include "sweep/plan/sweep_cell.hpp"
#include "sweep/protocol.hpp"
#include "sweep/rank/counted_calls.hpp"
#include "sweep/rank/rank_facts.hpp"
#include "sweep/rank/sweep_fault.hpp"
#include "sweep/rank/sweep_lane.hpp"
#include "sweep/rank/sweep_team.hpp"
#include "sweep/sweep_device.hpp"
#include "text/text.hpp"
#include "tutti/tutti.hpp"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kMostIterations = 1000;
constexpr std::uint64_t kLeastIterations = 3;
// Calls in which the device is observed. They come after the timed calls, because observing takes time too.
constexpr std::uint64_t kMostObserved = 10;
// As many in every cell, so that the counts of all cells compare.
constexpr int kCountedCalls = 3;
constexpr std::uint64_t kMostSteps = 30;

// Warm-up calls after the first, checked call. At small sizes they are cheap and let caches and CPU clock settle; at
// large sizes memory is the limit, and they cost more than they gain.
int warm_ups(std::uint64_t bytes) {
  if (bytes < std::uint64_t{8} << 20) return 4;
  return bytes < std::uint64_t{128} << 20 ? 1 : 0;
}

struct RankOptions {
  std::string report;
  std::string target;
  std::vector<SweepCell> cells;
  DataType type = DataType::float32;
  int ranks = 0;
  std::uint64_t iterations = 0;  // 0: as many as fit in `seconds`
  double seconds = 1;
  std::string device = "host";
  int concurrent = 1;
  bool counted = false;
  std::uint64_t compute_passes = 0;  // 0: no steps
};

/// Runs the cells one after the other on the same buffers.
class RankProgram {
 public:
  RankProgram(const RankOptions& options, const Communicator& comm, Device device, LineClient& report)
      : options_(options),
        comm_(comm),
        report_(report),
        team_(make_lanes(options, comm, device)),
        computation_(options.compute_passes) {
    // If any rank has a device, the ranks on the host make the observed calls too.
    has_device_ = team_.lanes().front()->has_device();
    std::uint8_t any = has_device_ ? 1 : 0;
    comm_.allreduce(Buffer(&any, 1), {.op = Reduction::max});
    any_device_ = any != 0;
  }

  void run_cell(std::size_t index) {
    const SweepCell& cell = options_.cells[index];
    const CellShape shape(cell, options_.type, options_.ranks);
    send({SweepWord::begin, index});
    explain(index, shape);
    const auto fault = SweepFault::ordered(options_.target, cell.bytes);
    if (fault) misbehave(*fault);

    fill(cell, shape);
    const double first = team_.timed_call(shape);
    if (fault == SweepFault::Kind::wrong && comm_.rank() == 0) team_.lanes().front()->spoil(shape);
    std::string problem = team_.first_problem([&](const SweepLane& lane) { return lane.check(shape); });
    // Sums grow with every call in place; they must not overflow.
    if (shape.in_place) for_lanes([&](SweepLane& lane) { lane.zero(shape); });
    const std::uint64_t iterations = choose_iterations(shape, first);
    if (!shape.in_place) for_lanes([&](SweepLane& lane) { lane.clear_probes(shape); });
    const std::string times = time_calls(index, shape, iterations);
    if (options_.compute_passes > 0) time_steps(index, shape, std::min(iterations, kMostSteps));
    if (any_device_) observe_device(index, shape, std::min(iterations, kMostObserved));
    if (options_.counted) count_calls(index, shape);
    if (shape.in_place) {
      fill(cell, shape);
      (void)team_.timed_call(shape);
    }
    if (problem.empty()) problem = team_.first_problem([&](const SweepLane& lane) { return lane.check_probes(shape); });
    report_process();
    if (problem.empty()) {
      send({SweepWord::ok, index, times});
    } else {
      send({SweepWord::wrong, index, concat("rank ", comm_.rank(), ": ", problem)});
    }
    // No rank begins the next cell before all have reported this one: a failure in the next cell ends the job.
    comm_.barrier();
  }

 private:
  static std::vector<std::unique_ptr<SweepLane>> make_lanes(const RankOptions& options, const Communicator& comm,
                                                            Device device) {
    std::vector<std::unique_ptr<SweepLane>> lanes;
    for (int index = 0; index < options.concurrent; ++index) {
      lanes.push_back(std::make_unique<SweepLane>(index == 0 ? comm : comm.duplicate(concat("lane", index)), device,
                                                  options.cells, options.type));
    }
    return lanes;
  }

  void send(const SweepMessage& message) { report_.send(encode(message)); }

  template <typename Use>
  void for_lanes(const Use& use) {
    for (const auto& lane : team_.lanes()) use(*lane);
  }

  /// Every communicator has other numbers, so that a mix-up of two of them is detected.
  void fill(const SweepCell& cell, const CellShape& shape) {
    auto seed = static_cast<std::uint32_t>(cell.bytes) * 31 + static_cast<std::uint32_t>(cell.op);
    for_lanes([&](SweepLane& lane) { lane.fill(shape, seed++); });
  }

  void explain(std::size_t index, const CellShape& shape) {
    if (comm_.rank() != 0) return;
    const Explanation explanation = comm_.explain(shape.op, shape.type, Reduction::sum, shape.count);
    send({SweepWord::served, index, explanation.backend});
    if (!explanation.emulated) return;
    send({SweepWord::emulated, index, explanation.emulation});
    send({SweepWord::note, index, concat("emulated by ", explanation.emulation)});
  }

  void report_process() {
    const RankProcess process = this_process();
    if (process.threads <= threads_) return;
    threads_ = process.threads;
    send({SweepWord::process, static_cast<std::size_t>(comm_.rank()), to_text(process)});
  }

  [[nodiscard]] std::string time_calls(std::size_t index, const CellShape& shape, std::uint64_t iterations) {
    std::string times;
    auto last_sign = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < iterations; ++i) {
      times += concat(times.empty() ? "" : " ", team_.timed_call(shape));
      // Timing a cell may take longer than the limit after which a cell counts as hung.
      if (const auto now = std::chrono::steady_clock::now(); now - last_sign > std::chrono::seconds(1)) {
        last_sign = now;
        send({SweepWord::alive, index});
      }
    }
    return times;
  }

  /// Steps of a program: a computation and the operation; and the computation alone, as if ranks did not communicate.
  void time_steps(std::size_t index, const CellShape& shape, std::uint64_t iterations) {
    std::string times;
    for (std::uint64_t i = 0; i < iterations; ++i) {
      const double step = team_.timed_step(shape, computation_);
      times += concat(times.empty() ? "" : " ", step, ' ', team_.timed_computation(computation_));
      send({SweepWord::alive, index});
    }
    send({SweepWord::steps, index, times});
  }

  /// Reports the work of the device per call and whether it was staged through the host.
  void observe_device(std::size_t index, const CellShape& shape, std::uint64_t iterations) {
    std::string calls;
    std::string uses;
    bool was_staged = false;
    for (std::uint64_t i = 0; i < iterations; ++i) {
      const DeviceTimes observed;
      calls += concat(calls.empty() ? "" : " ", team_.timed_call(shape));
      uses += concat(uses.empty() ? "" : " ", observed.calls(), ' ', observed.microseconds(), ' ',
                     observed.is_span() ? 1 : 0);
      was_staged = was_staged || observed.was_staged();
    }
    send({SweepWord::observed, index, calls});
    if (!has_device_) return;
    send({SweepWord::device, index, uses});
    if (!was_staged) return;
    send({SweepWord::staged, index});
    send({SweepWord::note, index, "staged through host memory"});
  }

  /// Calls for the counts, which are apart from the timed ones because counting takes time.
  void count_calls(std::size_t index, const CellShape& shape) {
    CountedCalls counted(shape.op);
    for (int i = 0; i < kCountedCalls; ++i) (void)team_.timed_call(shape);
    send({SweepWord::counts, index, to_text(counted.counts())});
    if (comm_.rank() == 0) send({SweepWord::served, index, counted.served_by()});
  }

  void misbehave(SweepFault::Kind kind) const {
    const bool last = comm_.rank() == comm_.size() - 1;
    if (kind == SweepFault::Kind::crash && last) std::raise(SIGSEGV);
    if (kind == SweepFault::Kind::exit && last) std::_Exit(3);
    while (kind == SweepFault::Kind::hang && last) pause();
  }

  /// Warms up and chooses a number of iterations that is the same on all ranks.
  [[nodiscard]] std::uint64_t choose_iterations(const CellShape& shape, double first) {
    double cost = first;
    if (const int calls = warm_ups(shape.message_bytes()); calls > 0) {
      // Includes the barriers, which can take longer than the call when ranks share a core.
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) (void)team_.timed_call(shape);
      cost = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / calls;
    }
    std::uint64_t iterations = options_.iterations;
    if (iterations == 0) {
      const double affordable = options_.seconds * 1e6 / std::max(cost, 0.01);
      iterations = static_cast<std::uint64_t>(
          std::clamp(affordable, static_cast<double>(kLeastIterations), static_cast<double>(kMostIterations)));
      comm_.broadcast(Buffer(&iterations, 1), kRoot);
      if (iterations < kLeastIterations || iterations > kMostIterations) {
        throw Error(ErrorCode::backend_failure, concat("broadcast of the number of iterations gave ", iterations,
                                                       " instead of ", kLeastIterations, " to ", kMostIterations));
      }
    }
    return iterations;
  }

  const RankOptions& options_;
  Communicator comm_;
  LineClient& report_;
  SweepTeam team_;
  Computation computation_;
  bool has_device_ = false;
  bool any_device_ = false;    ///< whether any rank has a device
  std::uint64_t threads_ = 0;  ///< most that were reported
};

int run_cells(const RankOptions& options) {
  LineClient report(options.report);
  try {
    // Before the backend's library: an MPI may start OpenCL, which the device module could then no longer set up.
    const Config config = place_on(options.device);
    const Communicator comm = world({.config = config});
    const Device device = comm.placement().device;
    if (comm.size() != options.ranks) {
      throw Error(ErrorCode::system, concat("tutti sweep started ", options.ranks, " ranks, but backend ",
                                            comm.backend(), " sees ", comm.size()));
    }
    report.send(encode({SweepWord::rank, static_cast<std::size_t>(comm.rank()), device.name()}));
    if (comm.rank() == 0) {
      for (const std::string& setting : comm.explain(OpKind::allreduce).settings)
        report.send(encode({SweepWord::setting, 0, setting}));
      report.send(encode({SweepWord::library, 0, library_of(comm.backend())}));
    }
    RankProgram program(options, comm, device, report);
    for (std::size_t index = 0; index < options.cells.size(); ++index) program.run_cell(index);
  } catch (const std::exception& error) {
    std::string message = error.what();
    std::ranges::replace(message, '\n', ' ');
    report.send(encode({.word = SweepWord::failed, .text = message}));
    return kExitFailure;
  }
  return 0;
}

}  // namespace

void add_sweep_rank_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_internal_command(tutti, "sweep-rank");
  const auto options = std::make_shared<RankOptions>();
  command.add_option("--report", options->report)->required();
  command.add_option("--ranks", options->ranks)->required();
  command.add_option("--target", options->target);
  command.add_option("--device", options->device);
  command.add_option("--iterations", options->iterations);
  command.add_option("--seconds", options->seconds);
  command.add_option("--concurrent", options->concurrent);
  command.add_option("--compute-passes", options->compute_passes);
  command.add_flag("--counted", options->counted);
  add_value(command, "--cells", "LIST", "", [options](const std::string& text) { options->cells = parse_cells(text); });
  add_value(command, "--dtype", "TYPE", "",
            [options](const std::string& text) { options->type = parse_data_type(text).value(); });
  command.callback([&invocation, options] { invocation.exit_code = run_cells(*options); });
}

}  // namespace tutti::tools
