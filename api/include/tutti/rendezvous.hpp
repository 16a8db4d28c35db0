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

/// Ranks whose end ends a wait in Store::get(), because the key will never come. Ranks are those of the job.
struct WaitedRanks {
  static constexpr int kUnknown = -1;     ///< any of the members may put the key
  static constexpr int kAllMembers = -2;  ///< all members must take part before the key is put

  std::span<const int> members = {};  ///< of the exchange; empty: all ranks of the job. The loss of one ends the wait
  int giver = kUnknown;               ///< the rank that puts the key: that it has left the job ends the wait, too
};

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
  /// The same, but throws Error{peer_failure} that names the rank as soon as one of these ranks has ended, unless the
  /// key exists.
  [[nodiscard]] std::string get(std::string_view key, std::chrono::nanoseconds timeout, const WaitedRanks& ranks) {
    return do_get_from(key, timeout, ranks);
  }
  /// The lost ranks of the job: their connections to the store ended, but they had not left the job. Does not block; a
  /// loss is seen by a later call. Empty for a store that does not know its ranks.
  [[nodiscard]] std::vector<int> lost() { return do_lost(); }
  /// Leaves the job: this rank needs the store no more, and its end is no loss. All other functions fail afterwards.
  /// The destructor leaves, too. Waits at most a second for the server.
  void leave() noexcept { do_leave(); }
  /// Announces that this rank of the job will put no further key that begins with `scope`, and why: waits of others for
  /// such keys end with Error{peer_failure} that names the rank and the reason. Nothing if the store cannot be told.
  void fail(int rank, std::string_view scope, std::string_view reason) noexcept { do_fail(rank, scope, reason); }

 protected:
  Store() = default;

 private:
  virtual void do_put(std::string_view key, std::string_view value, std::uint32_t reads) = 0;
  virtual std::string do_get(std::string_view key, std::chrono::nanoseconds timeout) = 0;
  virtual std::string do_get_from(std::string_view key, std::chrono::nanoseconds timeout,
                                  const WaitedRanks& /*ranks*/) {
    return do_get(key, timeout);
  }
  virtual std::vector<int> do_lost() { return {}; }
  virtual void do_leave() noexcept {}
  virtual void do_fail(int /*rank*/, std::string_view /*scope*/, std::string_view /*reason*/) noexcept {}
};

/// Setup of one communicator: this rank, the number of ranks, and exchange of small values through a Store. A handle;
/// copies share the store and the use count of each name, so names can be reused. For each name all members must make
/// the same calls of allgather(), broadcast() and barrier() in the same order. Thread-safe.
///
/// Functions that wait throw Error{peer_failure} that names the rank as soon as a member is lost or has left the job,
/// if the store knows its ranks (see JobMember).
class TUTTI_API Rendezvous {
 public:
  /// Ranks are those of the store's job. `scope` separates the keys of different communicators; equal on all members.
  /// Throws Error{invalid_argument} if the
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

  /// The members that are lost, as ranks of this rendezvous; see Store::lost(). Does not block.
  [[nodiscard]] std::vector<int> lost() const;

  /// A rendezvous of `members` (ranks of this rendezvous, in their new order) in the same store. Its scope is unique,
  /// even if the same or other members use the same `scope` again. No communication. Called by members only, with equal
  /// arguments; throws Error{invalid_argument} for invalid members.
  [[nodiscard]] Rendezvous subset(std::span<const int> members, std::string_view scope) const;

  /// A rendezvous of the same ranks for one attempt, for example to create a communicator: fail() on it and on its
  /// subsets concerns this attempt alone. No communication; called by all members equally often.
  [[nodiscard]] Rendezvous attempt() const;
  /// Announces that this rank will not carry on with the attempt, and why: the other members' waits in it end with
  /// Error{peer_failure} that names the rank and the reason. Nothing outside of an attempt.
  void fail(std::string_view reason) const noexcept;

 private:
  struct Counters;
  [[nodiscard]] int job_rank(int rank) const;
  [[nodiscard]] std::string scoped(char kind, std::string_view name) const;
  [[nodiscard]] std::string next_key(std::string_view name) const;

  int rank_;
  int size_;
  std::shared_ptr<Store> store_;
  std::string attempt_;  ///< begins the keys of an attempt and of its subsets; empty: none
  std::string scope_;
  std::chrono::nanoseconds timeout_;
  std::shared_ptr<Counters> counters_;
  std::vector<int> job_ranks_;  ///< by rank; empty: the same
};

/// One rendezvous per rank, sharing one store: for ranks that are threads of this process.
[[nodiscard]] TUTTI_API std::vector<Rendezvous> local_rendezvous(int size);

/// The job that a store serves.
struct StoreJob {
  std::string id = {};  ///< as JobMember::job_id
  int size = 0;         ///< number of ranks; 0: that of the first rank that connects
  /// The server is in the process of a rank. If ranks have failed when it ends, it first waits up to 3 s for those that
  /// have not come yet, to tell them which one failed.
  bool is_served_by_rank = false;
};

/// Server of a job's store. Serves from its own thread until destroyed; clients that still wait then get Error{system}.
/// Client and server authenticate each other with the secret (HMAC-SHA256 challenge and response) before any key is
/// accessed; the secret itself is never sent. With a secret, all further messages are authenticated as well: a message
/// that was changed, repeated or left out on the way ends the connection. Values are sent unencrypted. A child made by
/// fork() does not keep the server's sockets.
class TUTTI_API StoreServer {
 public:
  /// `address` is "tcp:HOST:PORT" (port 0: any free port) or "unix:NAME", a Linux abstract socket that accepts only
  /// processes of this user (checked by the kernel). `secret` may be empty for unix; tcp needs at least
  /// 16 bytes. Throws Error{invalid_argument} for an invalid address or a short secret, Error{system} if it cannot
  /// listen.
  StoreServer(std::string_view address, std::string_view secret, const StoreJob& job = {});
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

/// A rank's place in its job, which it tells the store's server when it connects.
struct JobMember {
  int rank = -1;  ///< -1: the client is no rank
  int size = 0;   ///< number of ranks of the job
  std::string job_id =
      {};                ///< the same on all ranks, different for jobs that may find each other's store; may be empty
  int server_rank = -1;  ///< the rank whose process serves the store; -1: another process, such as a launcher
};

/// Connects to a StoreServer; retries until `timeout` while no server listens. The server refuses a rank of another job
/// or of a job of another size, and a rank that is another process already; a process may follow one that has left.
/// Throws Error{timeout}, or Error{invalid_argument} if the server refuses this client, has another secret, belongs to
/// another user (unix) or is not a store, or for a short secret. A child made by fork() cannot use the connection.
[[nodiscard]] TUTTI_API std::shared_ptr<Store> connect_store(std::string_view address, std::string_view secret,
                                                             std::chrono::nanoseconds timeout,
                                                             const JobMember& member = {});

/// Returns a new secret: 256 random bits from the operating system, in hexadecimal.
[[nodiscard]] TUTTI_API std::string make_secret();

}  // namespace tutti
