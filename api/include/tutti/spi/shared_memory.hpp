#pragma once

#include <array>
#include <cstdint>

#include "tutti/export.hpp"

/// Memory from tutti::allocate(), as backends see it: parts of one file of the process, which a peer can map whole.
namespace tutti::spi {

/// The file behind all of a process's allocations.
struct SharedFile {
  int descriptor = -1;      ///< -1: nothing has been allocated yet
  std::uint64_t bytes = 0;  ///< grows, never shrinks
  std::array<std::uint64_t, 2> token =
      {};  ///< random; also the first 16 bytes of the file: who finds another file knows
};
[[nodiscard]] TUTTI_API SharedFile shared_file() noexcept;

inline constexpr std::uint64_t kNotShared = ~std::uint64_t{0};

/// Where in the file these bytes are; kNotShared unless one allocation holds them all. Takes no lock.
[[nodiscard]] TUTTI_API std::uint64_t shared_offset(const void* data, std::uint64_t bytes) noexcept;

}  // namespace tutti::spi
