#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::bench {

/// Measured operations, with the names of tutti.
enum class Op : std::uint8_t { allreduce, allgather, broadcast, reduce_scatter, barrier };
inline constexpr Op kOps[] = {Op::allreduce, Op::allgather, Op::broadcast, Op::reduce_scatter, Op::barrier};
[[nodiscard]] std::string_view name(Op op) noexcept;
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;

enum class Type : std::uint8_t { float32, float16, bfloat16 };
[[nodiscard]] std::string_view name(Type type) noexcept;
[[nodiscard]] std::optional<Type> parse_type(std::string_view text) noexcept;
[[nodiscard]] std::size_t size_of(Type type) noexcept;

/// An operation with its size and number of ranks. `bytes` is the size of a rank's input (for reduce_scatter all
/// blocks), but at least an element per rank. Reductions are sums, the root is rank 0, and all but broadcast are out of
/// place.
struct Workload {
  Op op = Op::allreduce;
  Type type = Type::float32;
  std::uint64_t bytes = 0;
  int ranks = 1;

  friend bool operator==(const Workload&, const Workload&) = default;

  /// Elements of a block: the whole message or, for reduce_scatter, one rank's part of it.
  [[nodiscard]] std::size_t count() const noexcept;
  [[nodiscard]] std::size_t input_count() const noexcept;
  [[nodiscard]] std::size_t output_count() const noexcept;
  [[nodiscard]] std::size_t input_bytes() const noexcept { return input_count() * size_of(type); }
  [[nodiscard]] std::size_t output_bytes() const noexcept { return output_count() * size_of(type); }
};

/// Fills a rank's input with small whole numbers, whose sums are exact in every type, and its output with a value that
/// is never a right result. For broadcast, which has one buffer, `output` is that buffer.
void fill(const Workload& workload, int rank, void* input, void* output);

/// Checks all elements of a rank's output. Empty if they are right, otherwise "element 5 is 3 instead of 7".
[[nodiscard]] std::string check(const Workload& workload, int rank, const void* output);

}  // namespace tutti::bench
