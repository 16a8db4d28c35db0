#include "tutti/types/operation.hpp"

#include <algorithm>
#include <cstdio>

namespace tutti {

namespace {

std::uint64_t sum_of(const BlockLayout& layout, int ranks) noexcept {
  std::uint64_t sum = 0;
  for (int rank = 0; layout.counts != nullptr && rank < ranks; ++rank) sum += layout.counts[rank];
  return sum;
}

std::uint64_t elements(Extent extent, const Operation& op, const BlockLayout& layout, int ranks) noexcept {
  switch (extent) {
    case Extent::none:
      return 0;
    case Extent::block:
      return op.count;
    case Extent::blocks:
      return op.count * static_cast<std::uint64_t>(ranks);
    case Extent::vector:
      break;
  }
  return sum_of(layout, ranks);
}

}  // namespace

std::uint64_t message_bytes(const Operation& op, int ranks) noexcept {
  const std::uint64_t in = elements(op.traits().input, op, op.input_layout, ranks);
  const std::uint64_t out = elements(op.traits().output, op, op.output_layout, ranks);
  return std::max(in, out) * size_of(op.type);
}

double bus_bandwidth_factor(OpKind kind, int ranks) noexcept {
  const double n = ranks;
  switch (kind) {
    case OpKind::allreduce:
      return 2 * (n - 1) / n;
    case OpKind::allgather:
    case OpKind::allgatherv:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatterv:
    case OpKind::gather:
    case OpKind::gatherv:
    case OpKind::scatter:
    case OpKind::scatterv:
    case OpKind::alltoall:
    case OpKind::alltoallv:
      return (n - 1) / n;
    case OpKind::broadcast:
    case OpKind::reduce:
    case OpKind::send:
    case OpKind::recv:
    case OpKind::barrier:
      break;
  }
  return 1;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g %s", value, units[unit]);
  return text.data();
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  std::array<char, 32> text{};
  if (seconds < 1) {
    std::snprintf(text.data(), text.size(), "%.4g ms", seconds * 1e3);
  } else if (duration % std::chrono::minutes(1) == std::chrono::nanoseconds(0)) {
    std::snprintf(text.data(), text.size(), "%.4g min", seconds / 60);
  } else {
    std::snprintf(text.data(), text.size(), "%.4g s", seconds);
  }
  return text.data();
}

std::string describe(const Operation& op) {
  std::string text(name(op.kind));
  if (op.kind == OpKind::barrier) return text;
  if (op.traits().reduces) text += "(" + std::string(name(op.reduction)) + ")";
  text += " of ";
  if (op.kind == OpKind::alltoallv) return text + std::string(name(op.type));
  return text + std::to_string(op.count) + " " + std::string(name(op.type)) + " (" + format_bytes(op.block_bytes()) +
         ")";
}

}  // namespace tutti
