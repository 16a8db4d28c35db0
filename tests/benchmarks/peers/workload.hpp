#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::bench {

/// Measured operations, with the names of tutti. `message` is a send and a recv: the ranks form pairs of neighbours, a
/// message goes from the even rank to the odd one and one of the same length comes back; its time is that of one of the
/// two.
enum class Op : std::uint8_t {
  allreduce,
  allgather,
  broadcast,
  reduce_scatter,
  alltoall,
  gather,
  scatter,
  message,
  barrier
};
inline constexpr Op kOps[] = {Op::allreduce, Op::allgather, Op::broadcast, Op::reduce_scatter, Op::alltoall,
                              Op::gather,    Op::scatter,   Op::message,   Op::barrier};
[[nodiscard]] std::string_view name(Op op) noexcept;
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;

enum class Type : std::uint8_t { float32, float16, bfloat16 };
[[nodiscard]] std::string_view name(Type type) noexcept;
[[nodiscard]] std::optional<Type> parse_type(std::string_view text) noexcept;
[[nodiscard]] std::size_t size_of(Type type) noexcept;

/// An operation with its size and number of ranks. `bytes` is the size of a rank's input (for reduce_scatter, alltoall
/// and scatter all blocks), but at least an element per rank. Reductions are sums, the root is rank 0, and all but
/// broadcast are out of place.
struct Workload {
  Op op = Op::allreduce;
  Type type = Type::float32;
  std::uint64_t bytes = 0;
  int ranks = 1;

  friend bool operator==(const Workload&, const Workload&) = default;

  /// Elements of a block: the whole message or, for reduce_scatter, alltoall and scatter, one rank's part of it.
  [[nodiscard]] std::size_t count() const noexcept;
  /// Elements of the buffers of each rank; those of the root where ranks differ.
  [[nodiscard]] std::size_t input_count() const noexcept;
  [[nodiscard]] std::size_t output_count() const noexcept;
  /// Messages that follow each other in one call: its time is divided by their number.
  [[nodiscard]] int trips() const noexcept { return op == Op::message ? 2 : 1; }
  /// The rank with which this one exchanges messages; nothing for the last one of an odd number of ranks.
  [[nodiscard]] std::optional<int> partner(int rank) const noexcept;
  [[nodiscard]] std::size_t input_bytes() const noexcept { return input_count() * size_of(type); }
  [[nodiscard]] std::size_t output_bytes() const noexcept { return output_count() * size_of(type); }
};

/// Fills a rank's input with small whole numbers, whose sums are exact in every type. For broadcast, which has one
/// buffer, the root's input is its output.
void fill_input(const Workload& workload, int rank, void* input, void* output);
/// Fills a rank's output with a value that is never a right result.
void spoil_output(const Workload& workload, void* output);

/// Checks all elements of a rank's output, if it has any. Empty if they are right, otherwise "element 5 is 3 instead of
/// 7".
[[nodiscard]] std::string check(const Workload& workload, int rank, const void* output);

}  // namespace tutti::bench
