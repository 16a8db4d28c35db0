#include "call/emulation/emulation.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "call/emulation/block_map.hpp"
#include "staging/host_buffer.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti {

namespace {

/// The ways there are; the order of the tests in way_of() is the order of preference.
enum class Way { none, scaled, float32, bytes, allreduce, gathering, barrier, exchange };

// Contributions are gathered in pieces, so that the temporary stays small however long the vector is.
constexpr std::uint64_t kGatheredBytes = std::uint64_t{4} << 20;

bool is_scaled(const Operation& op) { return op.prescale != 1.0 || op.reduction == Reduction::average; }

bool can_exchange(const spi::Capabilities& has) {
  return has.has(OpKind::send) && has.has(OpKind::recv) && has.has(DataType::uint8);
}

/// The move that brings all contributions to where they are combined.
OpKind gathering_kind(OpKind kind) {
  switch (kind) {
    case OpKind::reduce:
      return OpKind::gather;
    case OpKind::reduce_scatter:
      return OpKind::alltoall;
    case OpKind::reduce_scatterv:
      return OpKind::alltoallv;
    default:
      return OpKind::allgather;
  }
}

Way way_of_reduction(const Operation& op, const spi::Capabilities& has) {
  const bool gathers =
      (has.has(gathering_kind(op.kind)) && (has.has(op.type) || has.has(DataType::uint8))) || can_exchange(has);
  if (has.must_gather(op.type)) return gathers ? Way::gathering : Way::none;
  // Before the scaling, so that a sum that is to be divided is not rounded, and has the range of float32.
  const Reduction plain = op.reduction == Reduction::average ? Reduction::sum : op.reduction;
  if (is_narrow_float(op.type) && !has.has(plain, op.type) && has.has(plain, DataType::float32) &&
      (has.has(op.kind) || has.has(OpKind::allreduce))) {
    return Way::float32;
  }
  if (is_scaled(op)) return Way::scaled;
  if (op.kind != OpKind::allreduce && has.has(OpKind::allreduce) && has.has(op.reduction, op.type))
    return Way::allreduce;
  return gathers ? Way::gathering : Way::none;
}

Way way_of(const Operation& op, const spi::Capabilities& has) {
  if (op.traits().reduces) return way_of_reduction(op, has);
  if (op.kind == OpKind::barrier) {
    const bool any = has.has(OpKind::allreduce) || has.has(OpKind::allgather) || can_exchange(has);
    return any ? Way::barrier : Way::none;
  }
  if (has.has(op.kind) && !has.has(op.type) && has.has(DataType::uint8)) return Way::bytes;
  return can_exchange(has) && !is_message(op.kind) ? Way::exchange : Way::none;
}

std::uint64_t input_elements(const Operation& op, int size) {
  const Extent extent = op.traits().input;
  if (extent == Extent::vector)
    return std::accumulate(op.input_layout.counts, op.input_layout.counts + size, std::uint64_t{0});
  return extent == Extent::blocks ? op.count * static_cast<std::uint64_t>(size) : op.count;
}

/// A sum that is under way and divided when it has arrived.
class ScaledOperation final : public spi::PendingOperation {
 public:
  ScaledOperation(std::unique_ptr<spi::PendingOperation> inner, HostBuffer scaled_input, const Operation& op,
                  std::uint64_t divisor)
      : inner_(std::move(inner)), scaled_input_(std::move(scaled_input)), op_(op), divisor_(divisor) {}
  ~ScaledOperation() override {
    if (!is_complete_) scaled_input_.abandon();
  }

 private:
  bool do_poll() override { return finish(inner_->poll()); }
  bool do_wait(spi::Deadline until) override { return finish(inner_->wait(until)); }
  bool finish(bool complete) {
    is_complete_ = complete;
    if (complete && op_.output != nullptr) spi::scale(op_.output, op_.count, op_.type, 1.0, divisor_);
    return complete;
  }

  std::unique_ptr<spi::PendingOperation> inner_;
  HostBuffer scaled_input_;
  Operation op_;
  std::uint64_t divisor_;
  bool is_complete_ = false;
};

/// The plain operation behind a scaled one, the memory its scaled input lives in and what the result is divided by.
struct ScaledPlan {
  Operation inner;
  HostBuffer input;
  std::uint64_t divisor = 1;
};

ScaledPlan plan_scaled(const Operation& op, int size) {
  ScaledPlan plan{op, {}, 1};
  if (op.reduction == Reduction::average) {
    plan.inner.reduction = Reduction::sum;
    plan.divisor = static_cast<std::uint64_t>(size);
  }
  plan.inner.prescale = 1.0;
  if (op.prescale == 1.0) return plan;
  const std::uint64_t elements = input_elements(op, size);
  const std::size_t bytes = elements * size_of(op.type);
  // allreduce writes as much as it reads, so its output can hold the scaled input; the others must leave theirs alone.
  void* scaled = op.output;
  if (op.kind != OpKind::allreduce) {
    plan.input = HostBuffer(bytes);
    scaled = plan.input.data();
  }
  if (scaled != op.input) spi::copy(scaled, op.input, bytes, false);
  spi::scale(scaled, elements, op.type, op.prescale, 1);
  plan.inner.input = scaled;
  return plan;
}

}  // namespace

void Emulator::run(const Operation& op) {
  const spi::Capabilities& has = backend_.capabilities();
  if (has.takes(op)) return backend_.run(op);
  switch (way_of(op, has)) {
    case Way::scaled:
      return run_scaled(op);
    case Way::float32:
      return run_in_float32(op);
    case Way::bytes:
      return run_as_bytes(op);
    case Way::allreduce:
      return run_by_allreduce(op);
    case Way::gathering:
      return op.kind == OpKind::reduce_scatterv ? run_by_exchanging(op) : run_by_gathering(op);
    case Way::barrier:
      return run_barrier(op);
    case Way::exchange:
      return run_by_exchange(op);
    case Way::none:
      break;
  }
  throw Error(ErrorCode::unsupported,
              describe(op) + ": the backend has neither this operation nor others to build it from");
}

std::unique_ptr<spi::PendingOperation> Emulator::start(const Operation& op) {
  const spi::Capabilities& has = backend_.capabilities();
  if (op.traits().reduces && is_scaled(op)) {
    Operation plain = op;
    plain.prescale = 1.0;
    if (op.reduction == Reduction::average) plain.reduction = Reduction::sum;
    if (has.takes(plain)) {
      ScaledPlan plan = plan_scaled(op, size_);
      auto inner = backend_.start(plan.inner);
      return std::make_unique<ScaledOperation>(std::move(inner), std::move(plan.input), op, plan.divisor);
    }
  }
  run(op);
  return nullptr;
}

bool Emulator::exchanges_messages(const Operation& op, const spi::Capabilities& capabilities) noexcept {
  if (is_message(op.kind)) return true;
  if (capabilities.takes(op)) return false;
  if (op.traits().reduces) return !capabilities.has(gathering_kind(op.kind));
  return !capabilities.has(op.kind == OpKind::barrier ? OpKind::allgather : op.kind);
}

std::string Emulator::method(const Operation& op, const spi::Capabilities& capabilities) {
  switch (way_of(op, capabilities)) {
    case Way::scaled:
      return "a sum that is scaled before or after";
    case Way::float32:
      return "the same in float32, converted before and after";
    case Way::bytes:
      return "the same on bytes";
    case Way::allreduce:
      return "allreduce into a temporary";
    case Way::gathering:
      return std::string(name(gathering_kind(op.kind))) + " and combining on this rank";
    case Way::barrier:
      return "an operation of one element";
    case Way::exchange:
      return "a group of send and recv";
    case Way::none:
      break;
  }
  return {};
}

void Emulator::run_scaled(const Operation& op) {
  const ScaledPlan plan = plan_scaled(op, size_);
  run(plan.inner);
  if (plan.divisor != 1 && op.output != nullptr) spi::scale(op.output, op.count, op.type, 1.0, plan.divisor);
}

void Emulator::run_in_float32(const Operation& op) {
  const std::uint64_t elements = input_elements(op, size_);
  const HostBuffer input(elements * sizeof(float));
  const HostBuffer output(op.count * sizeof(float));
  spi::convert(input.data(), DataType::float32, op.input, op.type, elements);
  Operation wide = op;
  wide.type = DataType::float32;
  wide.input = input.data();
  wide.output = op.output != nullptr ? output.data() : nullptr;
  run(wide);
  if (op.output != nullptr) spi::convert(op.output, op.type, output.data(), DataType::float32, op.count);
}

void Emulator::run_as_bytes(const Operation& op) {
  const std::uint64_t width = size_of(op.type);
  std::vector<std::uint64_t> scaled;
  scaled.reserve(4 * static_cast<std::size_t>(size_));
  const auto in_bytes = [&](const std::uint64_t* values) -> const std::uint64_t* {
    if (values == nullptr) return nullptr;
    const std::size_t first = scaled.size();
    for (int rank = 0; rank < size_; ++rank) scaled.push_back(values[rank] * width);
    return scaled.data() + first;
  };
  Operation bytes = op;
  bytes.type = DataType::uint8;
  bytes.count = op.count * width;
  bytes.input_layout = {in_bytes(op.input_layout.counts), in_bytes(op.input_layout.displacements)};
  bytes.output_layout = {in_bytes(op.output_layout.counts), in_bytes(op.output_layout.displacements)};
  run(bytes);
}

void Emulator::run_by_allreduce(const Operation& op) {
  const std::uint64_t elements = input_elements(op, size_);
  Operation all = op;
  all.kind = OpKind::allreduce;
  all.count = elements;
  if (op.kind == OpKind::reduce && op.output != nullptr) return run(all);
  const HostBuffer result(elements * size_of(op.type));
  all.output = result.data();
  run(all);
  if (op.kind == OpKind::reduce_scatter || op.kind == OpKind::reduce_scatterv) {
    const std::uint64_t* const counts = op.input_layout.counts;
    const std::uint64_t begin = op.kind == OpKind::reduce_scatter
                                    ? static_cast<std::uint64_t>(rank_) * op.count
                                    : std::accumulate(counts, counts + rank_, std::uint64_t{0});
    spi::copy(op.output, result.data() + begin * size_of(op.type), op.block_bytes(), false);
  }
}

void Emulator::run_by_gathering(const Operation& op) {
  const std::uint64_t width = size_of(op.type);
  const auto ranks = static_cast<std::uint64_t>(size_);
  const std::uint64_t piece = std::max<std::uint64_t>(1, kGatheredBytes / width / ranks);
  const bool scatters = op.kind == OpKind::reduce_scatter;
  const spi::ReduceKernel kernel = spi::reduce_kernel(op.reduction, op.type);
  const HostBuffer gathered(std::min(piece, op.count) * ranks * width);
  const HostBuffer sent(scatters ? std::min(piece, op.count) * ranks * width : 0);
  const auto* input = static_cast<const std::byte*>(op.input);
  auto* output = static_cast<std::byte*>(op.output);
  std::vector<const void*> sources(ranks);
  const spi::ReduceTuning tuning{.prescale = op.prescale, .divisor = op.reduction == Reduction::average ? ranks : 1};

  for (std::uint64_t begin = 0; begin < op.count; begin += piece) {
    const std::uint64_t count = std::min(piece, op.count - begin);
    Operation move = op;
    move.kind = gathering_kind(op.kind);
    move.count = count;
    move.prescale = 1.0;
    move.input = input + begin * width;
    move.output = output != nullptr ? gathered.data() : nullptr;
    if (scatters) {
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        std::memcpy(sent.data() + rank * count * width, input + (rank * op.count + begin) * width, count * width);
      }
      move.input = sent.data();
    }
    run(move);
    if (output == nullptr) continue;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) sources[rank] = gathered.data() + rank * count * width;
    void* target = output + begin * width;
    kernel(&target, 1, sources.data(), size_, count, tuning);
  }
}

// Like run_by_gathering(), of blocks of different lengths.
void Emulator::run_by_exchanging(const Operation& op) {
  const std::uint64_t width = size_of(op.type);
  const auto ranks = static_cast<std::size_t>(size_);
  const std::uint64_t piece = std::max<std::uint64_t>(1, kGatheredBytes / width / ranks);
  const std::uint64_t* const blocks = op.input_layout.counts;
  const std::uint64_t longest = *std::max_element(blocks, blocks + size_);
  const spi::ReduceKernel kernel = spi::reduce_kernel(op.reduction, op.type);
  const HostBuffer gathered(std::min(piece, op.count) * ranks * width);
  std::vector<const void*> sources(ranks);
  std::vector<std::uint64_t> sent(ranks);
  std::vector<std::uint64_t> begins(ranks);
  std::vector<std::uint64_t> received(ranks);
  const spi::ReduceTuning tuning{.prescale = op.prescale, .divisor = op.reduction == Reduction::average ? ranks : 1};

  for (std::uint64_t begin = 0; begin < longest; begin += piece) {
    const auto rest = [&](std::uint64_t count) { return std::min(piece, count - std::min(begin, count)); };
    std::uint64_t packed = 0;
    for (std::size_t rank = 0; rank < ranks; packed += blocks[rank], ++rank) {
      sent[rank] = rest(blocks[rank]);
      begins[rank] = packed + std::min(begin, blocks[rank]);
      received[rank] = rest(op.count);
    }
    Operation move = op;
    move.kind = OpKind::alltoallv;
    move.count = 0;
    move.prescale = 1.0;
    move.output = gathered.data();
    move.input_layout = {sent.data(), begins.data()};
    move.output_layout = {received.data(), nullptr};
    run(move);
    const std::uint64_t count = rest(op.count);
    if (count == 0) continue;
    for (std::size_t rank = 0; rank < ranks; ++rank) sources[rank] = gathered.data() + rank * count * width;
    void* target = static_cast<std::byte*>(op.output) + begin * width;
    kernel(&target, 1, sources.data(), size_, count, tuning);
  }
}

void Emulator::run_barrier(const Operation& op) {
  const spi::Capabilities& has = backend_.capabilities();
  const HostBuffer memory((static_cast<std::size_t>(size_) + 1) * sizeof(std::int64_t));
  const std::span<std::int64_t> values = memory.as<std::int64_t>();
  std::ranges::fill(values, 0);
  Operation meet = op;
  meet.count = 1;
  meet.input = values.data();
  meet.output = values.data() + 1;
  meet.kind = OpKind::allreduce;
  for (const DataType type : {DataType::int32, DataType::uint8, DataType::float32}) {
    meet.type = type;
    if (has.takes(meet)) return backend_.run(meet);
  }
  meet.kind = OpKind::allgather;
  meet.type = DataType::uint8;
  run(meet);
}

void Emulator::run_by_exchange(const Operation& op) {
  const BlockMap map(op, rank_, size_);
  std::vector<Operation> messages;
  const auto add = [&](OpKind kind, int peer, const BlockMap::Block& block) {
    Operation message;
    message.kind = kind;
    message.type = DataType::uint8;
    message.count = block.bytes;
    message.root = peer;
    message.input = block.input;
    message.output = block.output;
    message.where = op.where;
    message.timeout = op.timeout;
    message.sequence = op.sequence;
    messages.push_back(message);
  };
  for (int peer = 0; peer < size_; ++peer) {
    const BlockMap::Block sent = map.sent_to(peer);
    const BlockMap::Block received = map.received_from(peer);
    if (peer == rank_) {
      if (sent.bytes != 0 && received.output != nullptr && received.output != sent.input) {
        std::memmove(received.output, sent.input, sent.bytes);
      }
      continue;
    }
    if (sent.bytes != 0) add(OpKind::send, peer, sent);
    if (received.bytes != 0) add(OpKind::recv, peer, received);
  }
  if (!messages.empty()) backend_.run_group(messages);
}

bool can_emulate(OpKind kind, const spi::Capabilities& capabilities) noexcept {
  Operation op;
  op.kind = kind;
  op.type = DataType::float32;
  return way_of(op, capabilities) != Way::none;
}

}  // namespace tutti
