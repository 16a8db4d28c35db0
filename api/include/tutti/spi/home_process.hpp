#pragma once

#include <unistd.h>

namespace tutti::spi {

/// The process that made something. A child has a copy of what its parent made before fork(), without the threads that
/// serve it but with the memory and connections shared with other ranks: who destroys the copy must leave those alone.
class HomeProcess {
 public:
  HomeProcess() noexcept : id_(getpid()) {}

  /// Whether this is that process, and not a child of it.
  [[nodiscard]] bool is_here() const noexcept { return getpid() == id_; }

 private:
  pid_t id_;
};

}  // namespace tutti::spi
