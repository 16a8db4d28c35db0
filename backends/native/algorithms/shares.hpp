#pragma once

#include <algorithm>
#include <cstdint>

#include "segment/layout.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// The parts of a vector that are worked on by one rank each, in elements: blocks of the operation, or parts of equal
/// length.
class Shares {
 public:
  /// Share r is block r of the operation.
  [[nodiscard]] static Shares blocks(const Operation& operation, int ranks) noexcept {
    Shares shares;
    shares.each_ = operation.count;
    if (operation.traits().input == Extent::vector) shares.counts_ = operation.input_layout.counts;
    shares.total_ = shares.begin(ranks);
    return shares;
  }
  /// Cuts one block into whole cache lines per share, so that no two ranks write to one line.
  [[nodiscard]] static Shares parts(const Operation& operation, int ranks) noexcept {
    const std::uint64_t line = kLine / size_of(operation.type);
    const auto number = static_cast<std::uint64_t>(ranks);
    Shares shares;
    shares.each_ = ((operation.count + number - 1) / number + line - 1) / line * line;
    shares.total_ = operation.count;
    return shares;
  }

  /// 0 for ranks that have nothing.
  [[nodiscard]] std::uint64_t length(int rank) const noexcept {
    return counts_ != nullptr ? counts_[rank] : std::min(each_, total_ - begin(rank));
  }
  [[nodiscard]] std::uint64_t begin(int rank) const noexcept {
    if (counts_ == nullptr) return std::min(each_ * static_cast<std::uint64_t>(rank), total_);
    std::uint64_t at = 0;
    for (int before = 0; before < rank; ++before) at += counts_[before];
    return at;
  }
  [[nodiscard]] std::uint64_t longest(int ranks) const noexcept {
    return counts_ != nullptr ? *std::max_element(counts_, counts_ + ranks) : each_;
  }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

 private:
  std::uint64_t each_ = 0;
  std::uint64_t total_ = ~std::uint64_t{0};
  const std::uint64_t* counts_ = nullptr;  ///< of shares of different lengths
};

/// Whether each rank gets its own block of the result.
[[nodiscard]] constexpr bool scatters_result(OpKind kind) noexcept {
  return kind == OpKind::reduce_scatter || kind == OpKind::reduce_scatterv;
}

}  // namespace tutti::native
