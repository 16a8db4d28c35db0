#pragma once

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

  /// Answers at once, and also those who wait for the key.
  void put(Client& client, std::uint64_t id, std::string_view key, std::string_view value);
  /// Answers when the key is there or the time has come, whichever is first.
  void get(Client& client, std::uint64_t id, std::string_view key, Deadline deadline);
  /// The client is gone and must not be answered any more.
  void forget(const Client& client);
  /// Answers those whose time has come.
  void expire(Deadline now);
  /// When expire() has something to do next.
  [[nodiscard]] Deadline next_deadline() const noexcept;

 private:
  struct Waiter;
  using Waiters = std::multimap<std::string, Waiter, std::less<>>;
  using Timers = std::multimap<Deadline, Waiters::iterator>;
  struct Waiter {
    Client* client;
    std::uint64_t id;
    Timers::iterator timer;  ///< end() for one that waits for ever
  };

  void remove(Waiters::iterator waiter);

  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> values_;
  std::size_t bytes_ = 0;
  Waiters waiters_;
  Timers timers_;
};

}  // namespace tutti
