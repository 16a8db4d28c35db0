#pragma once

#include "channel/ccl_c_api.hpp"
#include "channel/ccl_channel.hpp"

namespace tutti::ccl {

/// A communicator by oneCCL's C interface, for host memory. Its calls return when the operation is complete.
class CChannel final : public Channel {
 public:
  /// The members of `rendezvous` meet by a unique id of the first of them, in its turn. Blocks until all have come;
  /// throws Error.
  CChannel(const CApi& api, CreationLock& creation, const Rendezvous& rendezvous);
  ~CChannel() override;

  [[noreturn]] void fail(const Operation& operation, int code) override;

 private:
  void do_carry_out(const Operation& operation, Workspace& workspace) override;
  [[nodiscard]] int issue(const Operation& operation, Workspace& workspace);
  [[nodiscard]] int issue_reduction(const Operation& operation, Workspace& workspace);
  /// Sends what is in `input` on the root to `output` on the others; either may be null where it is not used.
  [[nodiscard]] int issue_broadcast(const Operation& operation, int root);
  [[nodiscard]] std::string words(int code) const;

  const CApi& api_;
  CHandle handle_ = nullptr;
};

}  // namespace tutti::ccl
