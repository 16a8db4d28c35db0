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

/// Key-value store that all ranks of a job share during setup. Thread-safe. Not for the data path.
class TUTTI_API Store {
 public:
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Publishes a value; all ranks can get it when put() returns. A key is written once in the life of a job: throws
  /// Error{invalid_usage} if it exists. Throws Error{invalid_argument} unless the key has 1 byte to 4 KiB and the value
  /// at most 16 MiB. The store drops the value after `reads` calls of get(); 0: never.
  void put(std::string_view key, std::string_view value, std::uint32_t reads = 0) { do_put(key, value, reads); }
  /// Blocks until the key exists and returns its value. A timeout of 0 checks once and does not count as a read. Throws
  /// Error{timeout} naming the key, or Error{system} if the store has ended.
  [[nodiscard]] std::string get(std::string_view key, std::chrono::nanoseconds timeout) { return do_get(key, timeout); }

 protected:
  Store() = default;

 private:
  virtual void do_put(std::string_view key, std::string_view value, std::uint32_t reads) = 0;
  virtual std::string do_get(std::string_view key, std::chrono::nanoseconds timeout) = 0;
};

/// Setup of one communicator: this rank, the number of ranks, and exchange of small values through a Store. A handle;
/// copies share the store and the use count of each name, so names can be reused. For each name all members must make
/// the same calls of allgather(), broadcast() and barrier() in the same order. Thread-safe.
class TUTTI_API Rendezvous {
 public:
  /// `scope` separates the keys of different communicators; equal on all members. Throws Error{invalid_argument} if the
  /// rank is outside 0..size-1 or the store is null.
  Rendezvous(int rank, int size, std::shared_ptr<Store> store, std::string scope = {},
             std::chrono::nanoseconds timeout = std::chrono::minutes(5));

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }
  /// The store itself: its keys are common to all communicators of the job, while those of put() belong to this one.
  [[nodiscard]] const std::shared_ptr<Store>& store() const noexcept { return store_; }

  /// As Store::put() and Store::get(). `reads` is the number of get() calls to come, 0 if unknown.
  void put(std::string_view key, std::string_view value, std::uint32_t reads = 0) const;
  [[nodiscard]] std::string get(std::string_view key) const;
  /// Checks once, without waiting; std::nullopt if the key does not exist yet.
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;

  /// Returns the values of all members by rank. Blocks until all have called it; the Error{timeout} names missing
  /// ranks.
  [[nodiscard]] std::vector<std::string> allgather(std::string_view name, std::string_view mine) const;
  /// Returns the root's value on every member. Blocks until the root has called it.
  [[nodiscard]] std::string broadcast(std::string_view name, std::string_view value, int root) const;
  /// Blocks until all members have called it. Rank 0 returns last, when no rank needs the store for this barrier any
  /// more: a rank 0 that hosts the store may exit right afterwards.
  void barrier(std::string_view name) const;

  /// A rendezvous of `members` (ranks of this rendezvous, in their new order) in the same store. Its scope is unique,
  /// even if the same or other members use the same `scope` again. No communication. Called by members only, with equal
  /// arguments; throws Error{invalid_argument} for invalid members.
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

/// One rendezvous per rank, sharing one store: for ranks that are threads of this process.
[[nodiscard]] TUTTI_API std::vector<Rendezvous> local_rendezvous(int size);

/// Server of a job's store. Serves from its own thread until destroyed; clients that still wait then get Error{system}.
/// Client and server authenticate each other with the secret (HMAC-SHA256 challenge and response) before any key is
/// accessed; the secret itself is never sent. Values are sent unencrypted.
class TUTTI_API StoreServer {
 public:
  /// `address` is "tcp:HOST:PORT" (port 0: any free port) or "unix:NAME", a Linux abstract socket that accepts only
  /// processes of this user (checked by the kernel). `secret` may be empty for unix, but not for tcp. Throws
  /// Error{invalid_argument} for an invalid address or a missing secret, Error{system} if it cannot listen.
  StoreServer(std::string_view address, std::string_view secret);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Address of the server, with the actual port.
  [[nodiscard]] const std::string& address() const noexcept;
  /// Number of keys in the store.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Connects to a StoreServer; retries until `timeout` while no server listens. Throws Error{timeout}, or
/// Error{invalid_argument} if the server has another secret, belongs to another user (unix) or is not a store.
[[nodiscard]] TUTTI_API std::shared_ptr<Store> connect_store(std::string_view address, std::string_view secret,
                                                             std::chrono::nanoseconds timeout);

/// Returns a new secret: 256 random bits from the operating system, in hexadecimal.
[[nodiscard]] TUTTI_API std::string make_secret();

}  // namespace tutti
