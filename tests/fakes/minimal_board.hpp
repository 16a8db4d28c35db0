#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tutti/spi/backend.hpp"

namespace tutti::test {

/// Message board of ranks that are threads of one process.
class Board {
 public:
  /// Identifies a message: sender, receiver, stream of messages, and number in that stream.
  struct Address {
    int from;
    int to;
    bool collective;
    std::uint64_t number;
    friend auto operator<=>(const Address&, const Address&) = default;
  };

  /// The board with that name; it lives as long as its last shared_ptr.
  [[nodiscard]] static std::shared_ptr<Board> named(const std::string& name);

  void post(const Address& address, std::span<const std::byte> bytes);
  /// Waits until all messages are there or `until` has passed; returns the addresses without a message. Throws
  /// Error{aborted} for `op`.
  [[nodiscard]] std::vector<Address> missing(std::span<const Address> addresses, spi::Deadline until,
                                             const Operation& op);
  /// Removes and returns a message, which must be there.
  [[nodiscard]] std::vector<std::byte> take(const Address& address);
  void abort() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Address, std::vector<std::byte>> messages_;
  bool aborted_ = false;
};

}  // namespace tutti::test
