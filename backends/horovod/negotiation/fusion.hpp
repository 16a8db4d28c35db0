#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "negotiation/message.hpp"

namespace tutti::horovod {

struct FusionRule {
  std::uint64_t threshold = std::uint64_t{128} << 20;  ///< bytes of a fused operation; 0: nothing is fused
  bool with_groups = true;                             ///< whether the tensors of a group may be fused with others
};

/// Upstream's rounding of the threshold: up to a multiple of 64 float64 for each rank of a host, if every host has the
/// same number of ranks.
[[nodiscard]] std::uint64_t rounded_threshold(std::uint64_t threshold, int local_size, bool is_homogeneous) noexcept;

/// Joins responses of single tensors by upstream's rule: an allreduce, allgather or reducescatter takes in the
/// following ones of the same kind, type, reduction and factors while the sum stays within the threshold, and looks
/// behind others while the sum and the bytes passed over stay within it. Of an allgather the bytes of the output count.
[[nodiscard]] std::vector<Response> fuse(std::vector<Response> responses, const FusionRule& rule);

/// Some of the tensors of a fused response, or a part of one, which are processed in one operation.
struct Piece {
  std::size_t begin = 0;    ///< first tensor
  std::size_t end = 0;      ///< behind the last one
  std::uint64_t count = 0;  ///< elements, see Response::elements()

  std::uint64_t first = 0;  ///< of a part of a tensor: its first element

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// Cuts a fused response between tensors into operations of at most `bytes`, so that the fusion buffer stays in the
/// cache; a longer tensor is an operation of its own. 0: one operation. `partition`: the tensors of an allreduce that
/// are longer are cut into parts of that size; 0: none are.
[[nodiscard]] std::vector<Piece> pieces_of(const Response& response, std::uint64_t bytes, std::uint64_t partition = 0);

}  // namespace tutti::horovod
