#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "store/deadline.hpp"
#include "store/store_protocol.hpp"

namespace tutti {

/// The values of a store and the clients that wait for some. Knows no sockets; for one thread.
class StoreTable {
 public:
  /// Somebody who asks and is told.
  class Client {
   public:
    virtual void answer(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) = 0;

   protected:
    ~Client() = default;
  };

  /// Answers at once, and also those who wait for the key. It is dropped after so many `reads`; 0: it stays.
  void put(Client& client, std::uint64_t id, std::string_view key, std::string_view value, std::uint32_t reads);
  /// Answers when the key is there or the time has come, whichever is first. One without time is not counted as a read.
  void get(Client& client, std::uint64_t id, std::string_view key, std::chrono::nanoseconds timeout);
  /// The client is gone and must not be answered any more.
  void forget(const Client& client);
  /// Answers those whose time has come.
  void expire(Deadline now);
  /// When expire() has something to do next.
  [[nodiscard]] Deadline next_deadline() const noexcept;
  /// How many keys there are.
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

 private:
  struct Waiter;
  using Waiters = std::multimap<std::string, Waiter, std::less<>>;
  using Timers = std::multimap<Deadline, Waiters::iterator>;
  struct Waiter {
    Client* client;
    std::uint64_t id;
    Timers::iterator timer;  ///< end() for one that waits for ever
  };

  struct Entry {
    std::shared_ptr<const std::string> value;
    std::uint32_t reads;  ///< that are left; 0: it stays
  };
  using Values = std::map<std::string, Entry, std::less<>>;

  void remove(Waiters::iterator waiter);
  /// Whether the key is still there after it was read.
  bool count_read(Values::iterator entry);

  Values values_;
  std::size_t bytes_ = 0;
  Waiters waiters_;
  Timers timers_;
};

}  // namespace tutti
