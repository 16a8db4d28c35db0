#pragma once

#include <bit>
#include <cstdint>

#include "tutti/types/operation.hpp"

namespace tutti::spi {

/// The finaliser of splitmix64 over a word: cheap, and small changes do not cancel each other.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t state, std::uint64_t word) noexcept {
  std::uint64_t x = (state ^ word) + 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Hash of the values that must be equal on all ranks of a collective: kind and type always; count, root, reduction,
/// prescale and block counts where they are common to all ranks. `history` is the fingerprint of the collective before:
/// ranks that do not meet in a collective, such as two that each take themselves for the root of a broadcast, see in
/// the next one in which they meet that they have called different things.
[[nodiscard]] inline std::uint64_t fingerprint(const Operation& operation, int ranks, std::uint64_t history) noexcept {
  const OpTraits& traits = operation.traits();
  std::uint64_t words = static_cast<std::uint64_t>(operation.kind) | static_cast<std::uint64_t>(operation.type) << 8;
  if (traits.rooted) words |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(operation.root)) << 24;
  if (traits.reduces) words |= static_cast<std::uint64_t>(operation.reduction) << 16;
  // Multiplied, since the count is joined by exclusive or: 512 of one type must not look like 768 of another.
  const std::uint64_t spread = (words ^ history) * 0xD6E8FEB86659FD93U;
  std::uint64_t hash = mix(spread, is_vector(operation.kind) ? 0 : operation.count);
  if (traits.reduces && operation.prescale != 1.0) hash = mix(hash, std::bit_cast<std::uint64_t>(operation.prescale));
  if (has_common_counts(operation.kind)) {
    const BlockLayout& layout = traits.input == Extent::vector ? operation.input_layout : operation.output_layout;
    for (int r = 0; r < ranks; ++r) hash = mix(hash, layout.counts[r]);
  }
  return hash;
}

}  // namespace tutti::spi
