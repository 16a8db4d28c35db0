#include "replay/replay_player.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "record/event_cursor.hpp"
#include "record/operation_rules.hpp"
#include "replay/replay_values.hpp"
#include "text/text.hpp"
#include "tutti/tutti.hpp"

namespace tutti::tools {

namespace {

constexpr std::size_t kMostArrivals = std::size_t{1} << 20;
// A sleep may take this much longer than asked for; the rest of a gap is spent in a loop.
constexpr std::chrono::microseconds kSleepError{100};

double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// Counts calls into the library underneath.
class CallCounter final : public Observer {
 public:
  using Observer::on;
  void on(const HostCall&) noexcept override { calls_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> calls_ = 0;
};

CallCounter counter;

}  // namespace

ReplayPlayer::ReplayPlayer(const replay::JobRecord& record, const replay::ReplayPlan& plan, const ReplayRows& rows,
                           Communicator job)
    : record_(record),
      sequence_(record.sequences[plan.sequence_of[static_cast<std::size_t>(job.rank())]]),
      rows_(rows),
      place_(plan.place_of[static_cast<std::size_t>(job.rank())]),
      job_(std::move(job)),
      communicators_(record, job_),
      arrivals_(record.communicators.size()),
      collectives_(record.communicators.size()) {}

PlayedRound ReplayPlayer::play(const Options& options) {
  options_ = options;
  round_ = {.rows = std::vector<RowTotals>(rows_.rows.size())};
  for (Arrivals& arrivals : arrivals_) arrivals = {};
  const ObserverHandle counting = options.counts_calls ? add_observer(counter) : ObserverHandle();
  // Observers take time, which only backends that fuse operations are to pay.
  const ObserverHandle watching = options.counts_calls || has_inner_ ? add_observer(inner_) : ObserverHandle();
  job_.barrier();
  (void)inner_.take();
  const Time begin = last_ = std::chrono::steady_clock::now();
  for (replay::EventCursor cursor(sequence_); !cursor.at_end(); cursor.advance()) {
    const replay::Event event = cursor.event();
    pass_gap(static_cast<double>(sequence_.gap(cursor.index(), place_)) * options_.gap_factor);
    if (event.kind == replay::EventKind::operation) {
      play_operation(event);
    } else if (event.kind == replay::EventKind::wait) {
      for (std::size_t left = event.value == replay::kWaitAll ? pending_.size() : 1; left > 0; --left)
        wait(event.value == replay::kWaitAll ? 0 : event.value);
    } else {
      std::vector<Running> operations;
      for (cursor.advance(); cursor.event().kind == replay::EventKind::operation; cursor.advance())
        operations.push_back(prepare(cursor.event().value));
      play_group(event, std::move(operations));
    }
    options_.sign(last_);
  }
  while (!pending_.empty()) wait(0);
  round_.wall_us = microseconds(std::chrono::steady_clock::now() - begin);
  round_.sizes = inner_.take();
  has_inner_ = !round_.sizes.empty();
  if (!has_inner_) round_.sizes = sizes_of(rows_, round_.rows);
  if (!options_.counts_calls) add_waiting();
  return round_;
}

void ReplayPlayer::pass_gap(double gap_us) const {
  if (gap_us <= 0) return;
  const Time until = last_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                 std::chrono::duration<double, std::micro>(gap_us));
  if (until - std::chrono::steady_clock::now() > 2 * kSleepError) std::this_thread::sleep_until(until - kSleepError);
  while (std::chrono::steady_clock::now() < until) {
  }
}

std::uint64_t ReplayPlayer::next_seed(const replay::RecordedOperation& op, const Communicator& comm) {
  const std::uint64_t communicator = (op.communicator + std::uint64_t{1}) << 40;
  if (!is_message(op.kind)) return communicator + ++collectives_[op.communicator];
  const bool sends = op.kind == OpKind::send;
  const std::int64_t from = sends ? comm.rank() : op.root;
  const std::int64_t to = sends ? op.root : comm.rank();
  const std::uint64_t number = ++messages_[{op.communicator, from, to, op.tag}];
  return communicator + (static_cast<std::uint64_t>(op.tag) << 48) + number * 7919 + static_cast<std::uint64_t>(to);
}

ReplayPlayer::Running ReplayPlayer::prepare(std::uint32_t operation) {
  const replay::RecordedOperation& op = record_.operations[operation];
  const Communicator& comm = communicators_.get(op);
  const std::size_t width = size_of(op.type);
  const std::size_t input = replay::input_elements(op, comm.rank(), comm.size()) * width;
  const std::size_t output = replay::output_elements(op, comm.rank(), comm.size()) * width;
  Running running{.op = &op, .row = rows_.of_operation[operation], .comm = &comm};
  running.seed = next_seed(op, comm);
  const bool shares = op.in_place || op.kind == OpKind::broadcast;
  running.bytes = shares ? std::max(input, output) : input;
  running.more_bytes = shares ? 0 : output;
  running.memory = buffers_.take(running.bytes);
  running.more = buffers_.take(running.more_bytes);
  running.input = running.memory;
  running.output = shares ? running.memory : running.more;
  if (op.in_place) {
    // The smaller buffer is this rank's block of the larger one.
    std::uint64_t before = op.count * static_cast<std::uint64_t>(comm.rank());
    if (has_common_counts(op.kind)) {
      before = 0;
      const std::vector<std::uint64_t>& counts = op.in.empty() ? op.out : op.in;
      for (int rank = 0; rank < comm.rank(); ++rank) before += counts[static_cast<std::size_t>(rank)];
    }
    if (input < output) running.input += before * width;
    if (output < input) running.output += before * width;
  }
  if (options_.checks) {
    if (!shares && running.output != nullptr) std::fill_n(running.output, output, std::byte{0x5a});
    ReplayValues(op, comm.rank(), comm.size(), running.seed).fill(input == 0 ? nullptr : running.input);
  }
  return running;
}

Work ReplayPlayer::call(const Running& running) const {
  const replay::RecordedOperation& op = *running.op;
  const Communicator& comm = *running.comm;
  const ConstBuffer in(running.input, replay::input_elements(op, comm.rank(), comm.size()), op.type);
  const Buffer out(running.output, replay::output_elements(op, comm.rank(), comm.size()), op.type);
  const CallOptions options{.async = op.async, .label = op.label};
  const ReduceOptions reducing{.op = op.reduction, .prescale = op.prescale, .async = op.async, .label = op.label};
  const Blocks in_blocks{.counts = op.in};
  const Blocks out_blocks{.counts = op.out};
  // A rank whose buffer is not used tells the size of the block with the other one.
  switch (op.kind) {
    case OpKind::allreduce:
      return comm.allreduce(in, out, reducing);
    case OpKind::allgather:
      return comm.allgather(in, out, options);
    case OpKind::allgatherv:
      return comm.allgatherv(in, out, out_blocks, options);
    case OpKind::reduce_scatter:
      return comm.reduce_scatter(in, out, reducing);
    case OpKind::reduce_scatterv:
      return comm.reduce_scatterv(in, in_blocks, out, reducing);
    case OpKind::broadcast:
      return comm.broadcast(Buffer(running.memory, op.count, op.type), op.root, options);
    case OpKind::reduce:
      return comm.reduce(in, out, op.root, reducing);
    case OpKind::gather:
      return comm.gather(in, out, op.root, options);
    case OpKind::gatherv:
      return comm.gatherv(in, out, out_blocks, op.root, options);
    case OpKind::scatter:
      return comm.scatter(in, out, op.root, options);
    case OpKind::scatterv:
      return comm.scatterv(in, in_blocks, out, op.root, options);
    case OpKind::alltoall:
      return comm.alltoall(in, out, options);
    case OpKind::alltoallv:
      return comm.alltoallv(in, in_blocks, out, out_blocks, options);
    case OpKind::send:
      return comm.send(in, op.root, options);
    case OpKind::recv:
      return comm.recv(out, op.root, options);
    case OpKind::barrier:
      break;
  }
  return comm.barrier(options);
}

void ReplayPlayer::finish(const Running& running) {
  if (options_.checks) {
    const replay::RecordedOperation& op = *running.op;
    const Communicator& comm = *running.comm;
    const bool has_result = replay::output_elements(op, comm.rank(), comm.size()) > 0;
    const ReplayValues values(op, comm.rank(), comm.size(), running.seed);
    if (const std::string problem = values.check(has_result ? running.output : nullptr); !problem.empty())
      throw Error(ErrorCode::backend_failure,
                  concat("wrong result of ", name(op.kind), " of ", op.count, ' ', name(op.type), ": ", problem));
  }
  buffers_.put(running.memory, running.bytes);
  buffers_.put(running.more, running.more_bytes);
}

void ReplayPlayer::add_time(const std::vector<Running>& operations, Time begin, Time end, std::uint64_t host_calls,
                            bool counts) {
  const double time = microseconds(end - begin);
  round_.busy_us += time;
  last_ = std::chrono::steady_clock::now();
  if (operations.empty()) return;
  for (const Running& running : operations) {
    RowTotals& row = round_.rows[running.row];
    row.calls += counts ? 1 : 0;
    row.time_us += time / static_cast<double>(operations.size());
  }
  round_.rows[operations.front().row].host_calls += host_calls;
}

void ReplayPlayer::play_operation(const replay::Event& event) {
  std::vector<Running> operations = {prepare(event.value)};
  const bool async = operations.front().op->async;
  const std::uint64_t calls = counter.calls();
  const Time begin = std::chrono::steady_clock::now();
  Work work = call(operations.front());
  const Time end = std::chrono::steady_clock::now();
  note_arrival(operations.front(), begin, async ? std::nullopt : std::optional(end));
  if (!async) finish(operations.front());
  add_time(operations, begin, end, counter.calls() - calls, true);
  if (async) pending_.push_back({std::move(operations), std::move(work)});
}

void ReplayPlayer::play_group(const replay::Event& event, std::vector<Running> operations) {
  const std::uint64_t calls = counter.calls();
  const Time begin = std::chrono::steady_clock::now();
  GroupScope scope;
  for (const Running& running : operations) (void)call(running);
  Work work = scope.end();
  if (!event.async) work.wait();
  const Time end = std::chrono::steady_clock::now();
  for (const Running& running : operations) note_arrival(running, begin, std::nullopt);
  if (!event.async) std::ranges::for_each(operations, [this](const Running& running) { finish(running); });
  add_time(operations, begin, end, counter.calls() - calls, true);
  if (event.async) pending_.push_back({std::move(operations), std::move(work)});
}

void ReplayPlayer::wait(std::size_t index) {
  Pending pending = std::move(pending_[index]);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::uint64_t calls = counter.calls();
  const Time begin = std::chrono::steady_clock::now();
  pending.work.wait();
  const Time end = std::chrono::steady_clock::now();
  for (const Running& running : pending.operations) finish(running);
  add_time(pending.operations, begin, end, counter.calls() - calls, false);
}

void ReplayPlayer::note_arrival(const Running& running, Time begin, std::optional<Time> end) {
  if (options_.counts_calls || is_message(running.op->kind)) return;
  Arrivals& arrivals = arrivals_[running.op->communicator];
  if (arrivals.times_ns.size() == kMostArrivals) return;
  // The clock is that of the host, which all ranks share.
  arrivals.times_ns.push_back(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch()).count()));
  arrivals.durations_us.push_back(end ? static_cast<float>(microseconds(*end - begin)) : 0);
}

/// Compares the arrivals of all members after the round, on the backend that was measured.
void ReplayPlayer::add_waiting() {
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    const Communicator& comm = communicators_.get(i);
    if (!comm || arrivals_[i].times_ns.empty()) continue;
    const Arrivals& mine = arrivals_[i];
    std::vector<std::uint64_t> latest(mine.times_ns.size());
    comm.allreduce(ConstBuffer(mine.times_ns), Buffer(latest), {.op = Reduction::max});
    for (std::size_t call = 0; call < latest.size(); ++call) {
      if (latest[call] <= mine.times_ns[call]) {
        ++round_.last;
      } else {
        const double late_us = static_cast<double>(latest[call] - mine.times_ns[call]) / 1000;
        round_.waited_us += std::min(late_us, static_cast<double>(mine.durations_us[call]));
      }
    }
  }
}

}  // namespace tutti::tools
