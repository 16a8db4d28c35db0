#pragma once

#include "tutti/spi/file_descriptor.hpp"
#include "tutti/spi/home_process.hpp"

namespace tutti {

/// Owns a file descriptor of one process. A child made by fork() does not keep it: there the descriptor is closed
/// before fork() returns. Otherwise a child that lives on would keep a port in use, and the loss of its parent would
/// not break the parent's connections. Children of vfork() and posix_spawn() execute a program, which close-on-exec
/// covers.
class HomeDescriptor {
 public:
  HomeDescriptor() noexcept = default;
  explicit HomeDescriptor(spi::FileDescriptor descriptor);
  HomeDescriptor(HomeDescriptor&& other) noexcept;
  HomeDescriptor& operator=(HomeDescriptor&& other) noexcept;
  /// In a child: does nothing, since the number may stand for another file by now.
  ~HomeDescriptor() { reset(); }

  /// The descriptor, or -1. Not to be used in a child.
  [[nodiscard]] int get() const noexcept { return descriptor_.get(); }
  [[nodiscard]] bool is_home() const noexcept { return home_.is_here(); }
  /// Closes the descriptor now.
  void reset() noexcept;

 private:
  spi::FileDescriptor descriptor_;
  spi::HomeProcess home_;
};

}  // namespace tutti
