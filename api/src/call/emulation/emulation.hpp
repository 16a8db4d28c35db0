#pragma once

#include <memory>
#include <string>

#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

/// Builds the operations a backend lacks from those it has. Host memory.
///
/// | missing                     | built from                                                         |
/// |-----------------------------|--------------------------------------------------------------------|
/// | average, prescale           | sum, with the scaling before and after                              |
/// | a float of 8 or 16 bits     | the same reduction in float32, converted before and after           |
/// | a type that is only moved   | the same operation on bytes                                         |
/// | reduce, reduce_scatter(v)   | allreduce into a temporary                                          |
/// | any other reduction         | gathering the contributions and combining them here, in rank order  |
/// | barrier                     | allreduce or allgather of one element                               |
/// | any other move              | a group of send and recv                                            |
class Emulator {
 public:
  Emulator(spi::BackendCommunicator& backend, int rank, int size) noexcept
      : backend_(backend), rank_(rank), size_(size) {}

  /// Carries it out and returns when it is complete. Throws Error{unsupported} when even that is impossible.
  void run(const Operation& op);

  /// Like run(), but leaves the last step under way where that is a single operation of the backend (the scaled sums);
  /// null when complete.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start(const Operation& op);

  /// How the backend's lack of `op` is made up for, in a few words; empty when it cannot be.
  [[nodiscard]] static std::string method(const Operation& op, const spi::Capabilities& capabilities);
  /// Whether `op` is a message, or may be built from messages.
  [[nodiscard]] static bool exchanges_messages(const Operation& op, const spi::Capabilities& capabilities) noexcept;

 private:
  void run_scaled(const Operation& op);
  void run_in_float32(const Operation& op);
  void run_as_bytes(const Operation& op);
  void run_by_allreduce(const Operation& op);
  void run_by_gathering(const Operation& op);
  void run_by_exchanging(const Operation& op);
  void run_barrier(const Operation& op);
  void run_by_exchange(const Operation& op);

  spi::BackendCommunicator& backend_;
  int rank_;
  int size_;
};

}  // namespace tutti
