#include "check/vector_counts.hpp"

#include <span>

#include "call/emulation/emulation.hpp"
#include "staging/host_buffer.hpp"

namespace tutti {
namespace {

/// Elements that `rank` sends to `to`, as far as it knows.
std::uint64_t sent(const Operation& op, int rank, int to) noexcept {
  if (op.traits().input == Extent::vector) {
    const bool sends = op.kind != OpKind::scatterv || rank == op.root;
    return sends ? op.input_layout.counts[to] : 0;
  }
  return op.kind != OpKind::gatherv || to == op.root ? op.count : 0;
}

/// Elements that `rank` expects from `from`.
std::uint64_t expected(const Operation& op, int rank, int from) noexcept {
  if (op.traits().output == Extent::vector) {
    const bool receives = op.kind != OpKind::gatherv || rank == op.root;
    return receives ? op.output_layout.counts[from] : 0;
  }
  return !op.traits().rooted || from == op.root ? op.count : 0;
}

}  // namespace

std::optional<CountMismatch> compare_vector_counts(spi::BackendCommunicator& backend, int rank, int size,
                                                   const Operation& operation) {
  if (!is_vector(operation.kind)) return std::nullopt;
  Emulator emulator(backend, rank, size);
  const auto ranks = static_cast<std::size_t>(size);
  const HostBuffer counts(2 * ranks * sizeof(std::uint64_t));
  const std::span<std::uint64_t> mine = counts.as<std::uint64_t>().first(ranks);
  const std::span<std::uint64_t> theirs = counts.as<std::uint64_t>().last(ranks);
  for (int to = 0; to < size; ++to) mine[static_cast<std::size_t>(to)] = sent(operation, rank, to);
  Operation exchange;
  exchange.timeout = operation.timeout;
  exchange.sequence = operation.sequence;
  exchange.kind = OpKind::alltoall;
  exchange.type = DataType::uint64;
  exchange.count = 1;
  exchange.input = mine.data();
  exchange.output = theirs.data();
  emulator.run(exchange);

  const HostBuffer mismatches((ranks + 1) * sizeof(CountMismatch));
  const std::span<CountMismatch> all = mismatches.as<CountMismatch>().first(ranks);
  CountMismatch& found = mismatches.as<CountMismatch>()[ranks];
  found = {};
  for (int from = 0; from < size && found.from < 0; ++from) {
    const std::uint64_t announced = theirs[static_cast<std::size_t>(from)];
    const std::uint64_t awaited = expected(operation, rank, from);
    if (announced != awaited) found = {from, rank, announced, awaited};
  }
  // The receiver alone knows of a mismatch, but every rank is to fail.
  exchange.kind = OpKind::allgather;
  exchange.type = DataType::uint8;
  exchange.count = sizeof(CountMismatch);
  exchange.input = &found;
  exchange.output = all.data();
  emulator.run(exchange);
  for (const CountMismatch& one : all) {
    if (one.from >= 0) return one;
  }
  return std::nullopt;
}

}  // namespace tutti
