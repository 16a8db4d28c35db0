#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "command_line.hpp"
#include "local_socket.hpp"
#include "sweep_cell.hpp"
#include "sweep_fault.hpp"
#include "text.hpp"
#include "tutti/tutti.hpp"

namespace tutti::tools {
namespace {

constexpr std::uint64_t kMostIterations = 1000;
constexpr std::uint64_t kLeastIterations = 3;

// Calls before the timed ones, besides the first that is checked: they are cheap where the caches and the processor's
// clock still settle, and cost more than they tell where memory is the limit.
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
  std::uint64_t iterations = 0;  // 0: as the budget allows
  double seconds = 1;
};

/// Pages that exist once they are touched, so that memory for the largest cell costs nothing before it is its turn.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(std::max<std::size_t>(bytes, 1)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw Error(ErrorCode::system, concat("no memory for ", format_bytes_rounded(bytes)));
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Runs one operation after the other on the same two buffers.
class RankProgram {
 public:
  RankProgram(const RankOptions& options, Communicator comm, LineClient& report)
      : options_(options), comm_(std::move(comm)), report_(report) {
    std::size_t input = 0;
    std::size_t output = 0;
    for (const SweepCell& cell : options.cells) {
      const CellShape shape(cell, options.type, options.ranks);
      input = std::max(input, static_cast<std::size_t>(shape.input_count) * size_of(shape.type));
      output = std::max(output, static_cast<std::size_t>(shape.output_count) * size_of(shape.type));
    }
    input_.emplace(input);
    output_.emplace(output);
  }

  void run_cell(std::size_t index) {
    const SweepCell& cell = options_.cells[index];
    const CellShape shape(cell, options_.type, options_.ranks);
    report_.send(concat("begin ", index));
    const Explanation explanation = comm_.explain(cell.op, options_.type);
    if (explanation.emulated) report_.send(concat("note ", index, " emulated: ", explanation.reason));
    seed_ = static_cast<std::uint32_t>(cell.bytes) * 31 + static_cast<std::uint32_t>(cell.op);
    counts_.assign(static_cast<std::size_t>(options_.ranks), shape.count);
    fill_input(shape, comm_.rank(), seed_, input_->data());
    // All bits set is no value of the pattern in any type: an element that is never written is seen.
    std::memset(output_->data(), 0xFF, static_cast<std::size_t>(shape.output_count) * size_of(shape.type));
    const auto fault = SweepFault::ordered(options_.target, cell.bytes);
    if (fault) misbehave(*fault);

    const double first = timed_call(shape);
    if (fault == SweepFault::Kind::wrong && comm_.rank() == 0) std::memset(output_->data(), 0x55, size_of(shape.type));
    std::string problem = whole_check(shape);
    const std::uint64_t iterations = choose_iterations(shape, first);
    clear_probes(shape);
    std::string times;
    auto last_sign = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < iterations; ++i) {
      times += concat(' ', timed_call(shape));
      // A cell may be timed for longer than one that hangs is waited for.
      if (const auto now = std::chrono::steady_clock::now(); now - last_sign > std::chrono::seconds(1)) {
        last_sign = now;
        report_.send(concat("alive ", index));
      }
    }
    if (problem.empty()) problem = probe_check(shape);
    report_.send(problem.empty() ? concat("ok ", index, times)
                                 : concat("wrong ", index, " rank ", comm_.rank(), ": ", problem));
    // Nobody begins the next cell before all have answered for this one: a rank that fails there ends the job.
    comm_.barrier();
  }

 private:
  void misbehave(SweepFault::Kind kind) const {
    const bool last = comm_.rank() == comm_.size() - 1;
    if (kind == SweepFault::Kind::crash && last) std::raise(SIGSEGV);
    if (kind == SweepFault::Kind::exit && last) std::_Exit(3);
    while (kind == SweepFault::Kind::hang && last) pause();
  }

  void call(const CellShape& s) const {
    const ConstBuffer in(input_->data(), s.input_count, s.type);
    const Buffer out(output_->data(), s.output_count, s.type);
    const Blocks blocks{.counts = counts_};
    switch (s.op) {
      case OpKind::allreduce:
        comm_.allreduce(in, out);
        break;
      case OpKind::allgather:
        comm_.allgather(in, out);
        break;
      case OpKind::allgatherv:
        comm_.allgatherv(in, out, blocks);
        break;
      case OpKind::reduce_scatter:
        comm_.reduce_scatter(in, out);
        break;
      case OpKind::broadcast:
        comm_.broadcast(in, out, kRoot);
        break;
      case OpKind::reduce:
        comm_.reduce(in, out, kRoot);
        break;
      case OpKind::gather:
        comm_.gather(in, out, kRoot);
        break;
      case OpKind::gatherv:
        comm_.gatherv(in, out, blocks, kRoot);
        break;
      case OpKind::scatter:
        comm_.scatter(in, out, kRoot);
        break;
      case OpKind::scatterv:
        comm_.scatterv(in, blocks, out, kRoot);
        break;
      case OpKind::alltoall:
        comm_.alltoall(in, out);
        break;
      case OpKind::alltoallv:
        comm_.alltoallv(in, blocks, out, blocks);
        break;
      case OpKind::send:
      case OpKind::recv:
      case OpKind::barrier:
        break;  // is_sweepable() says no
    }
  }

  /// Microseconds of this rank; the parent takes the slowest rank of each iteration.
  [[nodiscard]] double timed_call(const CellShape& shape) const {
    comm_.barrier();
    const auto begin = std::chrono::steady_clock::now();
    call(shape);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }

  /// Warms up and settles on a number that is the same on all ranks.
  [[nodiscard]] std::uint64_t choose_iterations(const CellShape& shape, double first) const {
    double cost = first;
    if (const int calls = warm_ups(shape.message_bytes()); calls > 0) {
      // With the barriers, which can take longer than the call where ranks share a core.
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
        throw Error(ErrorCode::backend_failure, concat("broadcast of one number gave ", iterations));
      }
    }
    return iterations;
  }

  [[nodiscard]] std::string whole_check(const CellShape& shape) const {
    if (!has_result(shape, comm_.rank())) return {};
    return check_output(shape, comm_.rank(), seed_, output_->data(), 0, shape.output_count);
  }

  void clear_probes(const CellShape& shape) const {
    for (const std::uint64_t position : probe_positions(shape.output_count)) {
      std::memset(static_cast<std::byte*>(output_->data()) + position * size_of(shape.type), 0xFF, size_of(shape.type));
    }
  }

  [[nodiscard]] std::string probe_check(const CellShape& shape) const {
    if (!has_result(shape, comm_.rank())) return {};
    for (const std::uint64_t position : probe_positions(shape.output_count)) {
      std::string problem = check_output(shape, comm_.rank(), seed_, output_->data(), position, 1);
      if (!problem.empty()) return problem;
    }
    return {};
  }

  const RankOptions& options_;
  Communicator comm_;
  LineClient& report_;
  std::optional<Pages> input_;
  std::optional<Pages> output_;
  std::vector<std::uint64_t> counts_;
  std::uint32_t seed_ = 0;
};

int run_cells(const RankOptions& options) {
  LineClient report(options.report);
  try {
    Communicator comm = world();
    if (comm.size() != options.ranks) {
      throw Error(ErrorCode::system,
                  concat("started ", options.ranks, " ranks, but ", comm.backend(), " sees ", comm.size()));
    }
    report.send(concat("rank ", comm.rank()));
    RankProgram program(options, std::move(comm), report);
    for (std::size_t index = 0; index < options.cells.size(); ++index) program.run_cell(index);
  } catch (const std::exception& error) {
    std::string message = error.what();
    std::ranges::replace(message, '\n', ' ');
    report.send("failed " + message);
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
  command.add_option("--iterations", options->iterations);
  command.add_option("--seconds", options->seconds);
  add_value(command, "--cells", "LIST", "", [options](const std::string& text) { options->cells = parse_cells(text); });
  add_value(command, "--dtype", "TYPE", "",
            [options](const std::string& text) { options->type = parse_data_type(text).value(); });
  command.callback([&invocation, options] { invocation.exit_code = run_cells(*options); });
}

}  // namespace tutti::tools
