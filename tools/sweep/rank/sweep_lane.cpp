#include "sweep/rank/sweep_lane.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::tools {
namespace {

std::size_t bytes_of(const CellShape& shape, std::uint64_t count) noexcept {
  return static_cast<std::size_t>(count) * size_of(shape.type);
}

}  // namespace

std::size_t SweepLane::output_bytes(const CellShape& shape) noexcept {
  return bytes_of(shape, shape.in_place ? std::max(shape.input_count, shape.output_count) : shape.output_count);
}

std::size_t SweepLane::output_begin(const CellShape& shape) const noexcept {
  return bytes_of(shape, shape.output_offset(comm_.rank()));
}

SweepLane::SweepLane(Communicator comm, Device device, std::span<const SweepCell> cells, DataType type)
    : comm_(std::move(comm)) {
  if (!device.is_host()) stream_ = spi::device_runtime(device).make_stream(device);
  std::size_t input = 0;
  std::size_t output = 0;
  for (const SweepCell& cell : cells) {
    const CellShape shape(cell, type, comm_.size());
    if (!shape.in_place) input = std::max(input, bytes_of(shape, shape.input_count));
    output = std::max(output, output_bytes(shape));
  }
  input_ = std::make_unique<SweepBuffer>(input, stream());
  output_ = std::make_unique<SweepBuffer>(output, stream());
}

void SweepLane::fill(const CellShape& shape, std::uint32_t seed) {
  seed_ = seed;
  counts_.assign(static_cast<std::size_t>(shape.ranks), shape.count);
  const std::size_t output = output_bytes(shape);
  output_->require(output);
  // The pattern never has all bits set in any type, so that an element that was not written is detected.
  std::memset(output_->host(), 0xFF, output);
  const std::size_t input_bytes = bytes_of(shape, shape.input_count);
  if (!shape.in_place) input_->require(input_bytes);
  fill_input(shape, comm_.rank(), seed_, input(shape).host() + bytes_of(shape, shape.input_offset(comm_.rank())));
  if (!shape.in_place) input_->send(0, input_bytes);
  output_->send(0, output);
}

void SweepLane::zero(const CellShape& shape) {
  const std::size_t bytes = output_bytes(shape);
  std::memset(output_->host(), 0, bytes);
  output_->send(0, bytes);
}

Work SweepLane::call(const CellShape& s) const {
  const ConstBuffer in = input(s).get(s.input_offset(comm_.rank()), s.input_count, s.type);
  const Buffer out = output_->get(s.output_offset(comm_.rank()), s.output_count, s.type);
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
    case OpKind::reduce_scatterv:
      return comm_.reduce_scatterv(in, blocks, out, {.stream = on});
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

std::string SweepLane::check(const CellShape& shape) const {
  if (!has_result(shape, comm_.rank())) return {};
  const std::size_t begin = output_begin(shape);
  output_->fetch(begin, bytes_of(shape, shape.output_count));
  return check_output(shape, comm_.rank(), seed_, output_->host() + begin, 0, shape.output_count);
}

void SweepLane::clear_probes(const CellShape& shape) const {
  const std::size_t width = size_of(shape.type);
  for (const std::uint64_t position : probe_positions(shape.output_count)) {
    const std::size_t at = output_begin(shape) + position * width;
    std::memset(output_->host() + at, 0xFF, width);
    output_->send(at, width);
  }
}

std::string SweepLane::check_probes(const CellShape& shape) const {
  if (!has_result(shape, comm_.rank())) return {};
  const std::size_t begin = output_begin(shape);
  const std::size_t width = size_of(shape.type);
  for (const std::uint64_t position : probe_positions(shape.output_count)) {
    output_->fetch(begin + position * width, width);
    std::string problem = check_output(shape, comm_.rank(), seed_, output_->host() + begin, position, 1);
    if (!problem.empty()) return problem;
  }
  return {};
}

void SweepLane::spoil(const CellShape& shape) const {
  const std::size_t begin = output_begin(shape);
  const std::size_t width = size_of(shape.type);
  std::memset(output_->host() + begin, 0x55, width);
  output_->send(begin, width);
}

}  // namespace tutti::tools
