#pragma once

#include <unistd.h>

namespace tutti::spi {

/// Remembers the process that created an object. After fork() the child has a copy of the object without its threads,
/// but with its memory and connections, which other ranks share. Destroying the copy must not touch those.
class HomeProcess {
 public:
  HomeProcess() noexcept : id_(getpid()) {}

  /// Whether the caller is in that process, not in a child of it.
  [[nodiscard]] bool is_here() const noexcept { return getpid() == id_; }

 private:
  pid_t id_;
};

}  // namespace tutti::spi
