#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bridge/ccl_bridge.hpp"
#include "channel/ccl_workspace.hpp"
#include "creation/ccl_creation_lock.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::ccl {

/// A communicator of oneCCL, of either interface, and the calls on it, one at a time.
class Channel {
 public:
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Carries out an operation on host memory; returns when it is complete. Throws Error{backend_failure} with oneCCL's
  /// error text.
  void carry_out(const Operation& operation) { carry_out(operation, host_); }
  /// The same on memory of the device and context of `workspace`, if the channel is for devices. The workspace's stream
  /// orders the operation.
  void carry_out(const Operation& operation, Workspace& workspace) {
    if (!is_empty(operation)) do_carry_out(operation, workspace);
  }
  /// Like carry_out(), but does not wait for the operation if oneCCL leaves its completion to that stream.
  void enqueue(const Operation& operation, Workspace& workspace) {
    if (!is_empty(operation)) do_enqueue(operation, workspace);
  }

  /// Fast path: a complete allreduce on host memory in one call, which is not reported to the observer. Types and
  /// reductions are those of ccl_types.hpp.
  struct Shortcut {
    decltype(Bridge::whole_allreduce) allreduce = nullptr;  ///< null: there is none
    Handle* handle = nullptr;
  };
  [[nodiscard]] virtual Shortcut shortcut() const noexcept { return {}; }
  /// Throws Error{backend_failure} with oneCCL's error text for the code of a call that this thread has made.
  [[noreturn]] virtual void fail(const Operation& operation, int code) = 0;

 protected:
  explicit Channel(const Rendezvous& rendezvous) : rank_(rendezvous.rank()), size_(rendezvous.size()) {}

  /// The steps by which the members of a new communicator find each other.
  struct Handshake {
    std::string_view interface;                    ///< "C++" or "C": must be the same on all members
    std::function<std::string()> identify;         ///< called on the first member: makes the identifier
    std::function<void(const std::string&)> join;  ///< creates the communicator from the identifier
  };
  /// Creates the communicator with the other members, while the first member holds `creation_lock`. Blocks until all
  /// members have joined; throws Error.
  void meet(CreationLock& creation_lock, const Rendezvous& rendezvous, const Handshake& handshake);

 private:
  virtual void do_carry_out(const Operation& operation, Workspace& workspace) = 0;
  virtual void do_enqueue(const Operation& operation, Workspace& workspace) { do_carry_out(operation, workspace); }
  /// Whether the operation has no data on any rank, so that no call is needed.
  [[nodiscard]] static bool is_empty(const Operation& operation) noexcept;

  int rank_;
  int size_;
  Workspace host_;
};

/// "allreduce(sum) of 4 float32 (16 B) on rank 0 of 2 (ccl)", for messages.
[[nodiscard]] std::string where(const Operation& operation, int rank, int size);

}  // namespace tutti::ccl
