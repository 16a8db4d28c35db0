#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "negotiation/message.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::horovod {

/// Exchanges the messages of a round between all ranks of a set: one allgather of blocks, a second one if a message is
/// longer than a block. The blocks of the following rounds are then long enough, so that a second one is rare. Not
/// synchronised.
class RoundExchange {
 public:
  /// `control` must outlive it.
  RoundExchange(spi::BackendCommunicator& control, int size)
      : control_(control), size_(static_cast<std::size_t>(size)) {}

  /// Begins a round. `message` may be changed as soon as the call returns.
  void begin(const RoundMessage& message);
  [[nodiscard]] bool is_busy() const noexcept { return pending_ != nullptr; }
  /// Progresses until all messages are there (true) or `until` has passed (false).
  [[nodiscard]] bool wait(spi::Deadline until);
  /// The messages by rank, after wait() has returned true.
  [[nodiscard]] std::vector<RoundMessage> take();
  /// Gives the round up; the communicator has failed.
  void drop() noexcept { pending_.reset(); }

 private:
  [[nodiscard]] std::uint32_t length_of(std::size_t rank) const;
  void start(std::size_t block);

  spi::BackendCommunicator& control_;
  std::size_t size_;
  std::size_t block_ = 256;  ///< bytes of a rank in the first allgather, the same on all ranks
  std::size_t received_block_ = 0;
  bool is_second_ = false;
  std::vector<std::byte> mine_;
  std::vector<std::byte> all_;
  std::unique_ptr<spi::PendingOperation> pending_;
};

}  // namespace tutti::horovod
