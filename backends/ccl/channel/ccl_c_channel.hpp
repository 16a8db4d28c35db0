#pragma once

#include "channel/ccl_c_api.hpp"
#include "channel/ccl_channel.hpp"

namespace tutti::ccl {

/// A communicator of oneCCL's C interface, for host memory. Its calls return when the operation is complete.
class CChannel final : public Channel {
 public:
  /// Creates the communicator of the members of `rendezvous`, by a unique id of the first member, which holds
  /// `creation_lock` meanwhile. Blocks until all members have joined; throws Error.
  CChannel(const CApi& api, CreationLock& creation_lock, const Rendezvous& rendezvous);
  ~CChannel() override;

  [[noreturn]] void fail(const Operation& operation, int code) override;

 private:
  void do_carry_out(const Operation& operation, Workspace& workspace) override;
  [[nodiscard]] int issue(const Operation& operation, Workspace& workspace);
  [[nodiscard]] int issue_reduction(const Operation& operation, Workspace& workspace);
  /// Sends the input of the root to the outputs of the others; a buffer that a rank does not use may be null.
  [[nodiscard]] int issue_broadcast(const Operation& operation, int root);
  [[nodiscard]] std::string words(int code) const;

  const CApi& api_;
  CHandle handle_ = nullptr;
};

}  // namespace tutti::ccl
