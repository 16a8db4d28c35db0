#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/device.hpp"
#include "tutti/export.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti {

/// Operations of a communicator. To add one: a line here, a row in kOpTraits and code in backends that speed it up.
enum class OpKind : std::uint8_t {
  allreduce,
  allgather,
  allgatherv,
  reduce_scatter,
  reduce_scatterv,
  broadcast,
  reduce,
  gather,
  gatherv,
  scatter,
  scatterv,
  alltoall,
  alltoallv,
  send,
  recv,
  barrier,
};

inline constexpr std::size_t kOpKindCount = 16;

/// Size of one rank's input or output, in blocks of Operation::count elements.
enum class Extent : std::uint8_t {
  none,    ///< no such buffer
  block,   ///< one block
  blocks,  ///< one block per rank
  vector,  ///< per-rank counts and displacements
};

/// Fixed properties of an operation; they drive the generic code (validation, tests, tables).
struct OpTraits {
  OpKind kind;
  std::string_view name;
  Extent input;
  Extent output;
  bool rooted;            ///< Operation::root is a rank of the group (the peer for send and recv)
  bool reduces;           ///< Operation::reduction applies
  bool input_root_only;   ///< only the root's input is read
  bool output_root_only;  ///< only the root's output is written
};

inline constexpr std::array<OpTraits, kOpKindCount> kOpTraits = {{
    {OpKind::allreduce, "allreduce", Extent::block, Extent::block, false, true, false, false},
    {OpKind::allgather, "allgather", Extent::block, Extent::blocks, false, false, false, false},
    {OpKind::allgatherv, "allgatherv", Extent::block, Extent::vector, false, false, false, false},
    {OpKind::reduce_scatter, "reduce_scatter", Extent::blocks, Extent::block, false, true, false, false},
    {OpKind::reduce_scatterv, "reduce_scatterv", Extent::vector, Extent::block, false, true, false, false},
    {OpKind::broadcast, "broadcast", Extent::block, Extent::block, true, false, true, false},
    {OpKind::reduce, "reduce", Extent::block, Extent::block, true, true, false, true},
    {OpKind::gather, "gather", Extent::block, Extent::blocks, true, false, false, true},
    {OpKind::gatherv, "gatherv", Extent::block, Extent::vector, true, false, false, true},
    {OpKind::scatter, "scatter", Extent::blocks, Extent::block, true, false, true, false},
    {OpKind::scatterv, "scatterv", Extent::vector, Extent::block, true, false, true, false},
    {OpKind::alltoall, "alltoall", Extent::blocks, Extent::blocks, false, false, false, false},
    {OpKind::alltoallv, "alltoallv", Extent::vector, Extent::vector, false, false, false, false},
    {OpKind::send, "send", Extent::block, Extent::none, true, false, false, false},
    {OpKind::recv, "recv", Extent::none, Extent::block, true, false, false, false},
    {OpKind::barrier, "barrier", Extent::none, Extent::none, false, false, false, false},
}};

[[nodiscard]] constexpr const OpTraits& traits(OpKind kind) noexcept {
  return kOpTraits[static_cast<std::size_t>(kind)];
}

/// Name of an operation: "allreduce", "reduce_scatter", ...
[[nodiscard]] constexpr std::string_view name(OpKind kind) noexcept { return traits(kind).name; }

/// Whether the operation is a message between two ranks (send or recv). All others are collectives.
[[nodiscard]] constexpr bool is_message(OpKind kind) noexcept { return kind == OpKind::send || kind == OpKind::recv; }

/// Whether the operation has counts per rank, on either side.
[[nodiscard]] constexpr bool is_vector(OpKind kind) noexcept {
  return traits(kind).input == Extent::vector || traits(kind).output == Extent::vector;
}

/// Whether each rank has all counts of a vector operation, so that all ranks know its size (allgatherv,
/// reduce_scatterv). In the others only the root, or a pair of ranks, knows a count.
[[nodiscard]] constexpr bool has_common_counts(OpKind kind) noexcept {
  const OpTraits& row = traits(kind);
  return !row.rooted && (row.input == Extent::vector) != (row.output == Extent::vector);
}

/// The operation with that name, or std::nullopt.
[[nodiscard]] constexpr std::optional<OpKind> parse_op_kind(std::string_view text) noexcept {
  for (const OpTraits& row : kOpTraits) {
    if (row.name == text) return row.kind;
  }
  return std::nullopt;
}

/// Counts and displacements of a vector operation, one per rank, in elements. If `displacements` is null, as always in
/// reduce_scatterv, the blocks are packed in rank order.
struct BlockLayout {
  const std::uint64_t* counts = nullptr;
  const std::uint64_t* displacements = nullptr;
};

/// Upper limit of timeouts (100 years). Longer timeouts are reduced to it, so that computing a deadline cannot
/// overflow.
inline constexpr std::chrono::nanoseconds kLongestTimeout = std::chrono::hours(24 * 365 * 100);

/// Description of one operation, used by backends, observers, selection and emulation alike. The communicator validates
/// it before it passes it on.
struct Operation {
  OpKind kind = OpKind::barrier;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  std::int32_t root = 0;    ///< the root, or the peer of send and recv
  std::uint64_t count = 0;  ///< elements of one block; vector operations: of this rank's block (0 for alltoallv)
  const void* input = nullptr;
  void* output = nullptr;
  BlockLayout input_layout = {};   ///< if traits().input is Extent::vector
  BlockLayout output_layout = {};  ///< if traits().output is Extent::vector
  double prescale = 1.0;           ///< factor for the inputs of a reduction
  Memory where = {};               ///< location of both buffers
  Stream stream = {};
  std::chrono::nanoseconds timeout{};  ///< at most kLongestTimeout; zero: the backend's default
  std::string_view label = {};         ///< the caller's name for it; valid until the operation has completed
  std::uint64_t sequence = 0;          ///< number of this operation on its communicator, equal on all ranks

  // Keeps Operation from being an aggregate, which the compiler would zero with a slow string instruction first.
  Operation() noexcept {}  // NOLINT

  [[nodiscard]] const OpTraits& traits() const noexcept { return tutti::traits(kind); }
  /// Bytes of one block.
  [[nodiscard]] std::uint64_t block_bytes() const noexcept { return count * size_of(type); }
};

/// Message size in bytes as common collective benchmarks define it: the larger of one rank's input and output.
[[nodiscard]] TUTTI_API std::uint64_t message_bytes(const Operation& operation, int ranks) noexcept;

/// Factor between algorithm bandwidth and bus bandwidth, as the same benchmarks define it.
[[nodiscard]] TUTTI_API double bus_bandwidth_factor(OpKind kind, int ranks) noexcept;

/// "16 KiB", "1.5 GiB": four digits and a unit of 1024, for messages.
[[nodiscard]] TUTTI_API std::string format_bytes(std::uint64_t bytes);

/// "5 s", "250 ms", "5 min": for messages.
[[nodiscard]] TUTTI_API std::string format_duration(std::chrono::nanoseconds duration);

/// "allreduce(sum) of 4096 float32 (16 KiB)", for messages.
[[nodiscard]] TUTTI_API std::string describe(const Operation& operation);

}  // namespace tutti
