#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// Communicators of oneCCL are made one at a time in the whole job. While one is being made, oneCCL holds a lock of the
/// process and waits for the other members: two that are made at the same time, in another order on another rank, would
/// wait for each other for ever. The leader of each therefore takes a turn; turns are numbered in the job's store.
class CreationLock {
 public:
  /// `job`: of all ranks that will make communicators together.
  explicit CreationLock(const Rendezvous& job) : job_(job) {}

  /// The time from being first in the line until the communicator is made, or could not be. Thread-safe.
  class Guard {
   public:
    /// Waits for its time. To be called by one member, when all others are known to be ready.
    explicit Guard(CreationLock& creation);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CreationLock& creation_;
    std::uint64_t number_;
  };

 private:
  Rendezvous job_;
  std::atomic<std::uint64_t> first_free_ = 0;  ///< numbers below are known to be taken
};

}  // namespace tutti::ccl
