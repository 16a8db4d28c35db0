#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// Job-wide lock under which communicators of oneCCL are created one at a time. While oneCCL creates a communicator, it
/// holds a lock of the process and waits for the other members: two communicators that are created concurrently, in
/// different order on different ranks, would wait for each other for ever. One member of each communicator therefore
/// takes this lock. The lock hands out numbers, which are keys in the job's store; the holder of a number waits for the
/// holder of the previous one. The keys have no scope: ranks that begin with communicators of different groups, and
/// later share one, must use the same lock.
class CreationLock {
 public:
  /// The lock of the job that `member`, any rendezvous of the job, belongs to.
  explicit CreationLock(const Rendezvous& member) : store_(member.store()), timeout_(member.timeout()) {}

  /// Holds the lock until the communicator is created or its creation has failed. Thread-safe.
  class Guard {
   public:
    /// Waits for the lock. Called by one member, when all other members are known to be ready. Throws Error.
    explicit Guard(CreationLock& creation_lock);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CreationLock& creation_lock_;
    std::uint64_t number_;
  };

 private:
  std::shared_ptr<Store> store_;
  std::chrono::nanoseconds timeout_;
  std::atomic<std::uint64_t> first_free_ = 0;  ///< lower numbers are known to be taken
};

}  // namespace tutti::ccl
