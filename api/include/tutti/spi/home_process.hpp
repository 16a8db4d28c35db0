#pragma once

#include <cstdint>

#include "tutti/export.hpp"

namespace tutti::spi {

/// Changes in the child of every fork(). Costs a load.
[[nodiscard]] TUTTI_API std::uint32_t fork_generation() noexcept;

/// Remembers the process that created an object. After fork() the child has a copy of the object without its threads,
/// but with its memory and connections, which other ranks share. Destroying the copy must not touch those.
class HomeProcess {
 public:
  HomeProcess() noexcept : generation_(fork_generation()) {}

  /// Whether the caller is in that process, not in a child of it.
  [[nodiscard]] bool is_here() const noexcept { return fork_generation() == generation_; }

 private:
  std::uint32_t generation_;
};

}  // namespace tutti::spi
