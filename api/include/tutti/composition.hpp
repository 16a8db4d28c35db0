#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/types/operation.hpp"

namespace tutti {

/// Ways to carry out an operation by two others of the same library, which then do its work.
enum class Composition : std::uint8_t {
  none,                      ///< the operation itself
  halves,                    ///< twice the same, each of half the elements
  reduce_broadcast,          ///< allreduce
  reduce_scatter_allgather,  ///< allreduce
  gather_broadcast,          ///< allgather
};

/// Fixed properties of a composition.
struct CompositionTraits {
  Composition composition;
  std::string_view name;         ///< in tuning files
  std::string_view description;  ///< for people
  std::optional<OpKind> whole;   ///< the operation that it replaces; nothing: several
  std::array<OpKind, 2> parts;   ///< in their order, with the message size of the whole; of no use for halves
};

inline constexpr std::array<CompositionTraits, 4> kCompositionTraits = {{
    {Composition::reduce_broadcast,
     "reduce+broadcast",
     "reduce + broadcast",
     OpKind::allreduce,
     {OpKind::reduce, OpKind::broadcast}},
    {Composition::reduce_scatter_allgather,
     "reduce_scatter+allgather",
     "reduce_scatter + allgather",
     OpKind::allreduce,
     {OpKind::reduce_scatter, OpKind::allgather}},
    {Composition::gather_broadcast,
     "gather+broadcast",
     "gather + broadcast",
     OpKind::allgather,
     {OpKind::gather, OpKind::broadcast}},
    {Composition::halves, "halves", "two halves", std::nullopt, {}},
}};

/// The row of a composition other than none.
[[nodiscard]] constexpr const CompositionTraits& traits(Composition composition) noexcept {
  for (const CompositionTraits& row : kCompositionTraits) {
    if (row.composition == composition) return row;
  }
  return kCompositionTraits.back();
}

/// The composition with that name in tuning files, or std::nullopt.
[[nodiscard]] constexpr std::optional<Composition> parse_composition(std::string_view text) noexcept {
  for (const CompositionTraits& row : kCompositionTraits) {
    if (row.name == text) return row.composition;
  }
  return std::nullopt;
}

/// Whether `auto` can carry out the operation by the composition. Halves must be two stretches of each buffer, so the
/// operation has one block on either side.
[[nodiscard]] constexpr bool composes(Composition composition, OpKind kind) noexcept {
  if (composition == Composition::none) return true;
  if (const auto whole = traits(composition).whole) return *whole == kind;
  return traits(kind).input == Extent::block && traits(kind).output == Extent::block;
}

}  // namespace tutti
