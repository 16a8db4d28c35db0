#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "tutti/types/data_type.hpp"

namespace tutti::horovod {

/// Dot product and squared norms of two gradients.
struct AdasumProducts {
  double dot = 0;
  double left = 0;   ///< squared norm of the first one
  double right = 0;  ///< of the second one
};

/// Whether Adasum is defined for the type: float16, bfloat16, float32 and float64.
[[nodiscard]] bool adasum_takes(DataType type) noexcept;

/// The products of `count` elements, in float64.
[[nodiscard]] AdasumProducts adasum_products(const void* left, const void* right, DataType type,
                                             std::size_t count) noexcept;

/// left = (1 - dot / (2 |left|^2)) left + (1 - dot / (2 |right|^2)) right, rounded once per element; the factor of a
/// vector without length is 1.
void adasum_combine(void* left, const void* right, DataType type, std::size_t count,
                    const AdasumProducts& products) noexcept;

/// Sends `out` to the rank `peer` and receives `in` from it, both at the same time. Either may be empty. Throws when
/// the transfer fails.
using Exchange = std::function<void(int peer, std::span<const std::byte> out, std::span<std::byte> in)>;

/// Adasum of the ranks' gradients by recursive halving and doubling: a binary tree of the pairwise operator in order of
/// rank, whose vectors are spread over the ranks below. All ranks end with the same bits.
class Adasum {
 public:
  /// Throws Error{invalid_argument} if `size` is not a power of two. `largest_message`: larger exchanges are made in
  /// pieces of that many bytes.
  Adasum(int rank, int size, Exchange exchange, std::size_t largest_message = std::size_t{1} << 30);

  /// Combines `data`, a fusion buffer with tensors of `counts` elements one behind the other, in place. Each tensor has
  /// factors of its own. `scratch` has the size of `data`. Blocking; all ranks call it with equal counts and type.
  /// Throws Error{unsupported} for other types, and what the exchange throws.
  void run(std::byte* data, std::byte* scratch, DataType type, std::span<const std::size_t> counts);

 private:
  /// The elements [begin, end) of a buffer.
  struct Slice {
    std::size_t begin;
    std::size_t end;
    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  };

  void combine(std::byte* data, std::byte* scratch, DataType type, std::span<const std::size_t> counts,
               const Slice& mine, int level);
  void sum_products(std::vector<AdasumProducts>& products, int level);
  void transfer(int peer, std::span<const std::byte> out, std::span<std::byte> in);

  int rank_;
  int size_;
  Exchange exchange_;
  std::size_t largest_message_;
  std::vector<AdasumProducts> products_;
  std::vector<AdasumProducts> received_;
  std::vector<Slice> theirs_;
};

}  // namespace tutti::horovod
