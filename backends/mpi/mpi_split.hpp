#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tutti/types/operation.hpp"

namespace tutti::mpi {

/// Splits an operation whose counts or displacements exceed MPI's int into operations that fit. Does not use mpi.h.
///
/// The ranks concerned must make matching calls, so the way of splitting depends only on what all of them know:
/// - allreduce, reduce, broadcast, send, recv: in chunks of at most max_count elements;
/// - allgather: a broadcast per block; reduce_scatter(v): a reduce per block; gather, scatter, alltoall: a message per
///   block;
/// - vector forms: sender and receiver of a block know its length, other ranks need not. Blocks above max_count / size
///   elements travel alone, as above; the other blocks stay in one vector call that every rank makes. Their sum fits an
///   int, so a rank whose displacements do not fit packs these blocks.
class Split {
 public:
  /// `operation` has the arguments of rank `rank` of `size`; no call gets more than `max_count` elements. Copies this
  /// rank's own block, and packs blocks where needed; buffers and layouts must stay valid until finish().
  Split(const Operation& operation, int rank, int size, std::uint64_t max_count);
  ~Split();
  Split(const Split&) = delete;
  Split& operator=(const Split&) = delete;

  /// Whether this rank cannot carry out a vector form in one call.
  [[nodiscard]] static bool is_needed(const Operation& operation, int rank, int size, std::uint64_t max_count);

  /// The vector call that remains, or null. Every rank makes it, before the steps.
  [[nodiscard]] const Operation* rest() const noexcept { return rest_ ? &*rest_ : nullptr; }
  /// Collectives, in the order in which all ranks make them, or messages, which must all be started before any is
  /// waited for.
  [[nodiscard]] std::span<const Operation> steps() const noexcept { return steps_; }
  /// Whether the steps are messages.
  [[nodiscard]] bool has_messages() const noexcept { return has_messages_; }
  /// Copies blocks that were received packed to their displacements. Call once, when all calls are complete.
  void finish();

 private:
  /// Layout, and memory if blocks are packed, of the input or output of rest().
  struct Packed {
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> displacements;
    std::unique_ptr<std::byte[]> memory;
    std::uint64_t bytes = 0;
  };

  void add_steps();
  void add_step(OpKind kind, int root, std::uint64_t count, const void* input, void* output);
  void keep_rest();
  void keep_side(const BlockLayout& layout, std::byte* base, Packed& packed);
  void copy_packed(const BlockLayout& layout, std::byte* base, const Packed& packed, bool out) const;
  [[nodiscard]] bool travels_alone(std::uint64_t count) const noexcept { return count > alone_above_; }

  Operation operation_;
  int rank_;
  int size_;
  std::uint64_t max_count_;
  std::uint64_t alone_above_;
  std::vector<Operation> steps_;
  std::optional<Operation> rest_;
  Packed input_;
  Packed output_;
  bool has_messages_ = false;
};

}  // namespace tutti::mpi
