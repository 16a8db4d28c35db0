#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "bridge/ccl_bridge.hpp"
#include "ccl_creation_lock.hpp"
#include "channel/ccl_workspace.hpp"
#include "tutti/operation.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// One communicator of oneCCL and the calls on it, one at a time; by either of oneCCL's interfaces.
class Channel {
 public:
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Carries an operation on host memory out to its end. Throws Error{backend_failure} with oneCCL's words.
  void carry_out(const Operation& operation) { carry_out(operation, host_); }
  /// The same on memory of the context of `workspace`, where the channel is one for devices. The stream of the
  /// workspace orders it.
  void carry_out(const Operation& operation, Workspace& workspace) {
    if (!is_empty(operation)) do_carry_out(operation, workspace);
  }
  /// Leaves the end to that stream where oneCCL does.
  void enqueue(const Operation& operation, Workspace& workspace) {
    if (!is_empty(operation)) do_enqueue(operation, workspace);
  }

  /// An allreduce on host memory to its end in one call, which the observer is not told of: the shortest way for what
  /// is called most. Types and reductions are those of ccl_types.hpp.
  struct Shortcut {
    decltype(Bridge::whole_allreduce) allreduce = nullptr;  ///< null: there is none
    Handle* handle = nullptr;
  };
  [[nodiscard]] virtual Shortcut shortcut() const noexcept { return {}; }
  /// Throws Error{backend_failure} with oneCCL's words for the code of a call that this thread has made.
  [[noreturn]] virtual void fail(const Operation& operation, int code) = 0;

 protected:
  explicit Channel(const Rendezvous& rendezvous) : rank_(rendezvous.rank()), size_(rendezvous.size()) {}

  /// How the members of a new communicator find each other.
  struct Handshake {
    std::string_view interface;                    ///< a word that all members must say
    std::function<std::string()> identify;         ///< on the first member: what the others find it by
    std::function<void(const std::string&)> join;  ///< makes the communicator out of that
  };
  /// Meets the others, in the turn of this communicator. Blocks until all have come; throws Error.
  void meet(CreationLock& creation, const Rendezvous& rendezvous, const Handshake& handshake);

 private:
  virtual void do_carry_out(const Operation& operation, Workspace& workspace) = 0;
  virtual void do_enqueue(const Operation& operation, Workspace& workspace) { do_carry_out(operation, workspace); }
  /// Whether there is nothing to do on any rank.
  [[nodiscard]] static bool is_empty(const Operation& operation) noexcept;

  int rank_;
  int size_;
  Workspace host_;
};

/// "allreduce(sum) of 4 float32 (16 B) on rank 0 of 2 (ccl)", for messages.
[[nodiscard]] std::string where(const Operation& operation, int rank, int size);

}  // namespace tutti::ccl
