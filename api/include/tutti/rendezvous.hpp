#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/export.hpp"

namespace tutti {

/// A key-value store that all ranks of a job share while they find each other. Thread-safe. Not for the data path.
class TUTTI_API Store {
 public:
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Publishes a value; others see it when this returns. A key is written once in the life of a job:
  /// Error{invalid_usage} when it is there already. Keys of up to 4 KiB and values of up to 16 MiB;
  /// Error{invalid_argument} beyond. After `reads` times that somebody got it the store drops it; 0: it stays.
  void put(std::string_view key, std::string_view value, std::uint32_t reads = 0) { do_put(key, value, reads); }
  /// Waits until the key is there; a timeout of 0 looks once, and such a look is not counted. Throws Error{timeout}
  /// naming the key, Error{system} when the store is gone.
  [[nodiscard]] std::string get(std::string_view key, std::chrono::nanoseconds timeout) { return do_get(key, timeout); }

 protected:
  Store() = default;

 private:
  virtual void do_put(std::string_view key, std::string_view value, std::uint32_t reads) = 0;
  virtual std::string do_get(std::string_view key, std::chrono::nanoseconds timeout) = 0;
};

/// How the ranks of one communicator meet: who am I, how many are we, and a way to exchange small values. A handle;
/// copies share the store and the count of how often a name was used, so a name may be used again and again. For each
/// name every member must make the same calls of allgather(), broadcast() and barrier() in the same order. Thread-safe.
class TUTTI_API Rendezvous {
 public:
  /// `scope` keeps the keys of different communicators apart; equal on all members. Throws Error{invalid_argument} for
  /// a rank outside 0..size-1 or no store.
  Rendezvous(int rank, int size, std::shared_ptr<Store> store, std::string scope = {},
             std::chrono::nanoseconds timeout = std::chrono::minutes(5));

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }

  /// See Store: `reads` is how often it will be got, 0 when that is not known.
  void put(std::string_view key, std::string_view value, std::uint32_t reads = 0) const;
  [[nodiscard]] std::string get(std::string_view key) const;
  /// Looks once; nothing when the key is not there yet.
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;

  /// Everybody's value by rank. A member that never comes is named in the Error{timeout}.
  [[nodiscard]] std::vector<std::string> allgather(std::string_view name, std::string_view mine) const;
  /// The root's value on every member.
  [[nodiscard]] std::string broadcast(std::string_view name, std::string_view value, int root) const;
  /// Returns when all members have called it. Rank 0 leaves last, when nobody needs the store for this barrier any
  /// more: if it hosts the store it may end right after.
  void barrier(std::string_view name) const;

  /// The same store seen by `members` (ranks of this rendezvous, in their new order) under a scope of its own, also
  /// when the same members or others use the same name. Communicates nothing; to be called by members only, with equal
  /// arguments.
  [[nodiscard]] Rendezvous subset(std::span<const int> members, std::string_view scope) const;

 private:
  struct Counters;
  [[nodiscard]] std::string next_key(std::string_view name) const;

  int rank_;
  int size_;
  std::shared_ptr<Store> store_;
  std::string scope_;
  std::chrono::nanoseconds timeout_;
  std::shared_ptr<Counters> counters_;
};

/// n rendezvous that share one store in this process, one per rank: for ranks that are threads.
[[nodiscard]] TUTTI_API std::vector<Rendezvous> local_rendezvous(int size);

/// The server side of a job's store. Serves from a thread of its own until destroyed; clients that still wait then get
/// Error{system}. Peers prove that they know the secret (HMAC-SHA256 challenge and response, both ways) before a key is
/// touched; the secret itself never travels. Values travel in the clear.
class TUTTI_API StoreServer {
 public:
  /// `address`: "tcp:HOST:PORT" (port 0: any free one), or "unix:NAME" for a Linux abstract socket, which also admits
  /// only processes of this user (checked by the kernel) and may therefore do with an empty secret. A tcp address needs
  /// one.
  StoreServer(std::string_view address, std::string_view secret);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Where clients connect to, with the port that was really taken.
  [[nodiscard]] const std::string& address() const noexcept;
  /// How many keys it holds.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Connects to a StoreServer, retrying until `timeout` while nobody listens yet. Throws Error{timeout} or, when the
/// other side does not know the secret, is another user (unix) or is no store at all, Error{invalid_argument}.
[[nodiscard]] TUTTI_API std::shared_ptr<Store> connect_store(std::string_view address, std::string_view secret,
                                                             std::chrono::nanoseconds timeout);

/// A fresh secret: 256 bits of the operating system's randomness in hexadecimal.
[[nodiscard]] TUTTI_API std::string make_secret();

}  // namespace tutti
