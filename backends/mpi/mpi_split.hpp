#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tutti/operation.hpp"

namespace tutti::mpi {

/// An operation whose counts or displacements do not fit MPI's int, as operations that do. Free of mpi.h.
///
/// What is split how must follow from what all ranks concerned know, or they would not make the same calls:
/// - allreduce, reduce, broadcast, send, recv: chunk by chunk;
/// - allgather: a broadcast per block; reduce_scatter: a reduce per block; gather, scatter, alltoall: a message per
/// block;
/// - vector forms: both ends of a block know its length, but not what others exchange. Blocks of more than
///   max_count / size elements travel alone as above; the others stay in one vector call that every rank makes.
///   Together these fit, so a rank whose displacements do not fit packs them.
class Split {
 public:
  /// `operation` as rank `rank` of `size` sees it; no call gets more than `max_count` elements. Copies this rank's own
  /// block and packs; the buffers and layouts must stay until finish().
  Split(const Operation& operation, int rank, int size, std::uint64_t max_count);
  ~Split();
  Split(const Split&) = delete;
  Split& operator=(const Split&) = delete;

  /// Whether this rank cannot carry out a vector form in one call.
  [[nodiscard]] static bool is_needed(const Operation& operation, int rank, int size, std::uint64_t max_count);

  /// The vector call that remains, or null. Every rank makes it, before the steps.
  [[nodiscard]] const Operation* rest() const noexcept { return rest_ ? &*rest_ : nullptr; }
  /// Collectives in the order all ranks make them in, or messages, which must all be under way at the same time.
  [[nodiscard]] std::span<const Operation> steps() const noexcept { return steps_; }
  /// Whether the steps are messages.
  [[nodiscard]] bool has_messages() const noexcept { return has_messages_; }
  /// Puts what arrived packed in its place; once, when all is complete.
  void finish();

 private:
  /// The layout and memory that one side of rest() has instead of the user's.
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
