#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "store/deadline.hpp"
#include "store/store_members.hpp"
#include "store/wire/store_protocol.hpp"

namespace tutti {

/// The values of a store and the clients that wait for keys. Independent of sockets; for one thread.
class StoreTable {
 public:
  /// Receiver of the answers to put() and get().
  class Client {
   public:
    virtual void answer(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) = 0;
    /// See StoreMembers; 0 for a client that is no rank.
    [[nodiscard]] virtual std::uint32_t generation() const noexcept = 0;

   protected:
    ~Client() = default;
  };

  /// `members` says which waits have become hopeless.
  explicit StoreTable(const StoreMembers& members) : members_(members) {}

  /// Stores a value; answers the client at once, and all clients that wait for the key. The value is dropped after
  /// `reads` reads; 0: never.
  void put(Client& client, std::uint64_t id, std::string_view key, std::string_view value, std::uint32_t reads);
  /// Answers when the key exists, the timeout has passed or a watched rank has ended, whichever is first. A get with
  /// timeout 0 does not count as a read.
  void get(Client& client, std::uint64_t id, std::string_view key, std::chrono::nanoseconds timeout,
           const Watch& watch);
  /// Removes a client, which is not answered any more.
  void forget(const Client& client);
  /// Answers the clients whose wait has become hopeless; called after a rank has left, failed or was lost.
  void end_waits();
  /// Answers the clients whose timeout has passed.
  void expire(Deadline now);
  /// Time of the next call of expire().
  [[nodiscard]] Deadline next_deadline() const noexcept;
  /// Number of keys.
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

 private:
  struct Waiter;
  using Waiters = std::multimap<std::string, Waiter, std::less<>>;
  using Timers = std::multimap<Deadline, Waiters::iterator>;
  struct Waiter {
    Client* client;
    std::uint64_t id;
    Timers::iterator timer;  ///< end() if there is no timeout
    std::int32_t giver;      ///< of the watch
    std::string members;
  };

  struct Entry {
    std::shared_ptr<const std::string> value;
    std::uint32_t reads;  ///< remaining reads; 0: unlimited
  };
  using Values = std::map<std::string, Entry, std::less<>>;

  void remove(Waiters::iterator waiter);
  /// Counts a read; returns whether the key still exists.
  bool count_read(Values::iterator entry);

  const StoreMembers& members_;
  Values values_;
  std::size_t bytes_ = 0;
  Waiters waiters_;
  Timers timers_;
};

}  // namespace tutti
