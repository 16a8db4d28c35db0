#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mpi_handles.hpp"

/// Data of the program in memory of its own layout, as the bytes that tutti moves.
namespace tutti::adapters::mpi {

/// A data type of the program as far as moving it goes.
struct Layout {
  Word type = 0;
  std::uint64_t bytes = 0;     ///< data of one element
  std::int64_t extent = 0;     ///< distance of elements
  bool is_contiguous = false;  ///< predefined without gaps: elements are their bytes

  /// Asks MPI about a derived type; false if MPI does not know the type.
  [[nodiscard]] static bool read(Word type, Layout& layout) noexcept;
  /// Takes a duplicate of a derived type, which drop() frees; the type is null if MPI makes none.
  [[nodiscard]] static bool keep(Layout& layout) noexcept;
  static void drop(Layout& layout) noexcept;
  [[nodiscard]] std::byte* at(void* base, std::int64_t elements) const noexcept {
    return static_cast<std::byte*>(base) + elements * extent;
  }
};

/// Memory for one call, not initialised.
using Scratch = std::unique_ptr<std::byte[]>;
[[nodiscard]] inline Scratch make_scratch(std::uint64_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes == 0 ? 1 : bytes);
}

/// Copies `count` elements to packed bytes, and back. Throw Error{system} if MPI refuses.
void pack(const void* elements, std::int64_t count, const Layout& layout, std::byte* bytes);
void unpack(const std::byte* bytes, void* elements, std::int64_t count, const Layout& layout);

}  // namespace tutti::adapters::mpi
