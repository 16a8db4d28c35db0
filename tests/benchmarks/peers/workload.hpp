#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::bench {

/// What is measured, under the names of tutti.
enum class Op : std::uint8_t { allreduce, allgather, broadcast, reduce_scatter, barrier };
inline constexpr Op kOps[] = {Op::allreduce, Op::allgather, Op::broadcast, Op::reduce_scatter, Op::barrier};
[[nodiscard]] std::string_view name(Op op) noexcept;
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;

enum class Type : std::uint8_t { float32, float16, bfloat16 };
[[nodiscard]] std::string_view name(Type type) noexcept;
[[nodiscard]] std::optional<Type> parse_type(std::string_view text) noexcept;
[[nodiscard]] std::size_t size_of(Type type) noexcept;

/// An operation at a size and what that means for one rank. `bytes` is what one rank hands in, for reduce_scatter all
/// of its blocks; never less than an element per rank. Reductions are sums, the root is rank 0, all but broadcast are
/// out-of-place.
struct Workload {
  Op op = Op::allreduce;
  Type type = Type::float32;
  std::uint64_t bytes = 0;
  int ranks = 1;

  friend bool operator==(const Workload&, const Workload&) = default;

  /// Elements of a block: of the whole message, or, for reduce_scatter, of one rank's part of it.
  [[nodiscard]] std::size_t count() const noexcept;
  [[nodiscard]] std::size_t input_count() const noexcept;
  [[nodiscard]] std::size_t output_count() const noexcept;
  [[nodiscard]] std::size_t input_bytes() const noexcept { return input_count() * size_of(type); }
  [[nodiscard]] std::size_t output_bytes() const noexcept { return output_count() * size_of(type); }
};

/// Writes a rank's input, small whole numbers whose sums are exact in every type, and makes the output one that no
/// right result equals. For broadcast, which has one buffer, `output` is that buffer.
void fill(const Workload& workload, int rank, void* input, void* output);

/// Compares all of a rank's output. Empty when it is right, otherwise "element 5 is 3 instead of 7".
[[nodiscard]] std::string check(const Workload& workload, int rank, const void* output);

}  // namespace tutti::bench
