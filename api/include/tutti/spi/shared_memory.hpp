#pragma once

#include <array>
#include <cstdint>

#include "tutti/export.hpp"

/// Backends' view of memory from tutti::allocate(): parts of one file per process, which a peer can map as a whole.
namespace tutti::spi {

/// The file behind all of a process's allocations.
struct SharedFile {
  int descriptor = -1;      ///< -1: nothing has been allocated yet
  std::uint64_t bytes = 0;  ///< grows, never shrinks
  /// Random; equals the first 16 bytes of the file, so that a peer notices if it opened another file.
  std::array<std::uint64_t, 2> token = {};
};
[[nodiscard]] TUTTI_API SharedFile shared_file() noexcept;

inline constexpr std::uint64_t kNotShared = ~std::uint64_t{0};

/// Offset of these bytes in the file; kNotShared unless all are in one allocation. Takes no lock.
[[nodiscard]] TUTTI_API std::uint64_t shared_offset(const void* data, std::uint64_t bytes) noexcept;

/// Takes these bytes of an allocation out of the file, for an owner that cannot wait for a process which writes to them:
/// they keep address and content, but other processes no longer reach them. The allocation is ordinary memory from then
/// on, and its range of the file is never used again, so that a late write changes no other allocation. Works by whole
/// pages: at the edges of a buffer within an allocation, up to a page that holds other data too stays reachable. Costs
/// a copy; false if memory is lacking.
[[nodiscard]] TUTTI_API bool detach_shared(void* data, std::uint64_t bytes) noexcept;

}  // namespace tutti::spi
