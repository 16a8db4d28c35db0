#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "command_line.hpp"
#include "launch/local_socket.hpp"
#include "sweep/protocol.hpp"
#include "sweep/sweep_buffers.hpp"
#include "sweep/sweep_cell.hpp"
#include "sweep/sweep_device.hpp"
#include "sweep/sweep_fault.hpp"
#include "text/text.hpp"
#include "tutti/tutti.hpp"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kMostIterations = 1000;
constexpr std::uint64_t kLeastIterations = 3;
// Calls in which the device is observed. They come after the timed calls, because observing takes time too.
constexpr std::uint64_t kMostObserved = 10;

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
};

/// Runs the cells one after the other on the same two buffers.
class RankProgram {
 public:
  RankProgram(const RankOptions& options, Communicator comm, Device device, LineClient& report)
      : options_(options), comm_(std::move(comm)), report_(report) {
    if (!device.is_host()) stream_ = spi::device_runtime(device).make_stream(device);
    std::size_t input = 0;
    std::size_t output = 0;
    for (const SweepCell& cell : options.cells) {
      const CellShape shape(cell, options.type, options.ranks);
      input = std::max(input, static_cast<std::size_t>(shape.input_count) * size_of(shape.type));
      output = std::max(output, static_cast<std::size_t>(shape.output_count) * size_of(shape.type));
    }
    input_.emplace(input, stream());
    output_.emplace(output, stream());
    // If any rank has a device, the ranks on the host make the observed calls too.
    std::uint8_t has_device = stream_ != nullptr ? 1 : 0;
    comm_.allreduce(Buffer(&has_device, 1), {.op = Reduction::max});
    any_device_ = has_device != 0;
  }

  void run_cell(std::size_t index) {
    const SweepCell& cell = options_.cells[index];
    const CellShape shape(cell, options_.type, options_.ranks);
    send({SweepWord::begin, index});
    const Explanation explanation = comm_.explain(cell.op, options_.type, Reduction::sum, shape.count);
    if (explanation.emulated) send({SweepWord::note, index, "emulated: " + explanation.reason});
    seed_ = static_cast<std::uint32_t>(cell.bytes) * 31 + static_cast<std::uint32_t>(cell.op);
    counts_.assign(static_cast<std::size_t>(options_.ranks), shape.count);
    place_buffers(shape);
    const auto fault = SweepFault::ordered(options_.target, cell.bytes);
    if (fault) misbehave(*fault);

    const double first = timed_call(shape);
    output_->fetch(0, bytes(shape, shape.output_count));
    if (fault == SweepFault::Kind::wrong && comm_.rank() == 0) std::memset(output_->host(), 0x55, size_of(shape.type));
    std::string problem = whole_check(shape);
    const std::uint64_t iterations = choose_iterations(shape, first);
    clear_probes(shape);
    std::string times;
    auto last_sign = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < iterations; ++i) {
      times += concat(times.empty() ? "" : " ", timed_call(shape));
      // Timing a cell may take longer than the limit after which a cell counts as hung.
      if (const auto now = std::chrono::steady_clock::now(); now - last_sign > std::chrono::seconds(1)) {
        last_sign = now;
        send({SweepWord::alive, index});
      }
    }
    if (problem.empty()) problem = probe_check(shape);
    if (any_device_) observe_device(index, shape, std::min(iterations, kMostObserved));
    if (problem.empty()) {
      send({SweepWord::ok, index, times});
    } else {
      send({SweepWord::wrong, index, concat("rank ", comm_.rank(), ": ", problem)});
    }
    // No rank begins the next cell before all have reported this one: a failure in the next cell ends the job.
    comm_.barrier();
  }

 private:
  void send(const SweepMessage& message) { report_.send(encode(message)); }
  [[nodiscard]] Stream stream() const noexcept { return stream_ != nullptr ? stream_->stream() : Stream(); }
  [[nodiscard]] static std::size_t bytes(const CellShape& shape, std::uint64_t count) noexcept {
    return static_cast<std::size_t>(count) * size_of(shape.type);
  }

  void place_buffers(const CellShape& shape) {
    const std::size_t input = bytes(shape, shape.input_count);
    const std::size_t output = bytes(shape, shape.output_count);
    input_->require(input);
    output_->require(output);
    fill_input(shape, comm_.rank(), seed_, input_->host());
    // The pattern never has all bits set in any type, so that an element that was not written is detected.
    std::memset(output_->host(), 0xFF, output);
    input_->send(0, input);
    output_->send(0, output);
  }

  /// Reports the work of the device per call and whether it was staged through the host.
  void observe_device(std::size_t index, const CellShape& shape, std::uint64_t iterations) {
    std::string calls;
    std::string uses;
    bool was_staged = false;
    for (std::uint64_t i = 0; i < iterations; ++i) {
      const DeviceTimes observed;
      calls += concat(calls.empty() ? "" : " ", timed_call(shape));
      uses += concat(uses.empty() ? "" : " ", observed.calls(), ' ', observed.microseconds(), ' ',
                     observed.is_span() ? 1 : 0);
      was_staged = was_staged || observed.was_staged();
    }
    send({SweepWord::observed, index, calls});
    if (stream_ == nullptr) return;
    send({SweepWord::device, index, uses});
    if (was_staged) send({SweepWord::note, index, "staged through host memory"});
  }

  void misbehave(SweepFault::Kind kind) const {
    const bool last = comm_.rank() == comm_.size() - 1;
    if (kind == SweepFault::Kind::crash && last) std::raise(SIGSEGV);
    if (kind == SweepFault::Kind::exit && last) std::_Exit(3);
    while (kind == SweepFault::Kind::hang && last) pause();
  }

  [[nodiscard]] Work call(const CellShape& s) const {
    const ConstBuffer in = input_->get(s.input_count, s.type);
    const Buffer out = output_->get(s.output_count, s.type);
    const Blocks blocks{.counts = counts_};
    const Stream on = stream();
    switch (s.op) {
      case OpKind::allreduce:
        return comm_.allreduce(in, out, {.stream = on});
      case OpKind::allgather:
        return comm_.allgather(in, out, {.stream = on});
      case OpKind::allgatherv:
        return comm_.allgatherv(in, out, blocks, {.stream = on});
      case OpKind::reduce_scatter:
        return comm_.reduce_scatter(in, out, {.stream = on});
      case OpKind::broadcast:
        return comm_.broadcast(in, out, kRoot, {.stream = on});
      case OpKind::reduce:
        return comm_.reduce(in, out, kRoot, {.stream = on});
      case OpKind::gather:
        return comm_.gather(in, out, kRoot, {.stream = on});
      case OpKind::gatherv:
        return comm_.gatherv(in, out, blocks, kRoot, {.stream = on});
      case OpKind::scatter:
        return comm_.scatter(in, out, kRoot, {.stream = on});
      case OpKind::scatterv:
        return comm_.scatterv(in, blocks, out, kRoot, {.stream = on});
      case OpKind::alltoall:
        return comm_.alltoall(in, out, {.stream = on});
      case OpKind::alltoallv:
        return comm_.alltoallv(in, blocks, out, blocks, {.stream = on});
      case OpKind::send:
      case OpKind::recv:
      case OpKind::barrier:
        break;  // excluded by is_sweepable()
    }
    return {};
  }

  /// Microseconds of a call on this rank; `tutti sweep` takes the slowest rank of each iteration.
  [[nodiscard]] double timed_call(const CellShape& shape) const {
    comm_.barrier();
    const auto begin = std::chrono::steady_clock::now();
    call(shape).wait();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }

  /// Warms up and chooses a number of iterations that is the same on all ranks.
  [[nodiscard]] std::uint64_t choose_iterations(const CellShape& shape, double first) const {
    double cost = first;
    if (const int calls = warm_ups(shape.message_bytes()); calls > 0) {
      // Includes the barriers, which can take longer than the call when ranks share a core.
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) (void)timed_call(shape);
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

  [[nodiscard]] std::string whole_check(const CellShape& shape) const {
    if (!has_result(shape, comm_.rank())) return {};
    return check_output(shape, comm_.rank(), seed_, output_->host(), 0, shape.output_count);
  }

  void clear_probes(const CellShape& shape) const {
    const std::size_t width = size_of(shape.type);
    for (const std::uint64_t position : probe_positions(shape.output_count)) {
      std::memset(output_->host() + position * width, 0xFF, width);
      output_->send(position * width, width);
    }
  }

  [[nodiscard]] std::string probe_check(const CellShape& shape) const {
    if (!has_result(shape, comm_.rank())) return {};
    const std::size_t width = size_of(shape.type);
    for (const std::uint64_t position : probe_positions(shape.output_count)) {
      output_->fetch(position * width, width);
      std::string problem = check_output(shape, comm_.rank(), seed_, output_->host(), position, 1);
      if (!problem.empty()) return problem;
    }
    return {};
  }

  const RankOptions& options_;
  Communicator comm_;
  LineClient& report_;
  std::unique_ptr<spi::DeviceStream> stream_;  ///< null: on the host
  bool any_device_ = false;                    ///< whether any rank has a stream
  std::optional<SweepBuffer> input_;
  std::optional<SweepBuffer> output_;
  std::vector<std::uint64_t> counts_;
  std::uint32_t seed_ = 0;
};

int run_cells(const RankOptions& options) {
  LineClient report(options.report);
  try {
    // Before the backend's library: an MPI may start OpenCL, which the device module could then no longer set up.
    const Config config = place_on(options.device);
    Communicator comm = world({.config = config});
    const Device device = comm.placement().device;
    if (comm.size() != options.ranks) {
      throw Error(ErrorCode::system, concat("tutti sweep started ", options.ranks, " ranks, but backend ",
                                            comm.backend(), " sees ", comm.size()));
    }
    report.send(encode({SweepWord::rank, static_cast<std::size_t>(comm.rank()), device.name()}));
    if (comm.rank() == 0) {
      for (const std::string& setting : comm.explain(OpKind::allreduce).settings)
        report.send(encode({SweepWord::setting, 0, setting}));
    }
    RankProgram program(options, std::move(comm), device, report);
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
  add_value(command, "--cells", "LIST", "", [options](const std::string& text) { options->cells = parse_cells(text); });
  add_value(command, "--dtype", "TYPE", "",
            [options](const std::string& text) { options->type = parse_data_type(text).value(); });
  command.callback([&invocation, options] { invocation.exit_code = run_cells(*options); });
}

}  // namespace tutti::tools
