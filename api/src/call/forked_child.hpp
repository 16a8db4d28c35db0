#pragma once

#include <string>

#include "tutti/error.hpp"
#include "tutti/spi/home_process.hpp"

/// Use of a communicator in a child that was forked from a rank's process. The child's copy shares memory and
/// connections with the rank, so that a call would take the rank's place among the others.
namespace tutti {

/// Member of every communicator. In a child, the communicators that it has from its parent take all calls off the fast
/// path, which does not check for it.
class CountedCommunicator {
 public:
  CountedCommunicator();
  ~CountedCommunicator();
  CountedCommunicator(const CountedCommunicator&) = delete;
  CountedCommunicator& operator=(const CountedCommunicator&) = delete;

  /// Whether the caller is in the process that created the communicator, not in a child of it.
  [[nodiscard]] bool is_home() const noexcept { return home_.is_here(); }

 private:
  spi::HomeProcess home_;
};

/// Error{invalid_usage} of a call in a child.
[[nodiscard]] Error used_in_child(const std::string& communicator);

}  // namespace tutti
