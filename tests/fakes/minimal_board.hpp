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

/// Where the ranks of one group of threads leave messages for each other.
class Board {
 public:
  /// Names a message: who sends it to whom, in which stream of messages, and its number in there.
  struct Address {
    int from;
    int to;
    bool collective;
    std::uint64_t number;
    friend auto operator<=>(const Address&, const Address&) = default;
  };

  /// The board of that name; it lives as long as somebody holds it.
  [[nodiscard]] static std::shared_ptr<Board> named(const std::string& name);

  void post(const Address& address, std::span<const std::byte> bytes);
  /// Waits until all are there or `until` has passed; says which addresses are still empty. Throws Error{aborted} on
  /// behalf of `op`.
  [[nodiscard]] std::vector<Address> missing(std::span<const Address> addresses, spi::Deadline until,
                                             const Operation& op);
  /// Takes a message that is there.
  [[nodiscard]] std::vector<std::byte> take(const Address& address);
  void abort() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Address, std::vector<std::byte>> messages_;
  bool aborted_ = false;
};

}  // namespace tutti::test
