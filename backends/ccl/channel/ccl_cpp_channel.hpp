#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ccl_api.hpp"
#include "channel/ccl_channel.hpp"

namespace tutti::ccl {

/// A communicator of oneCCL's C++ interface.
class CppChannel final : public Channel {
 public:
  /// Creates the communicator of the members of `rendezvous`, by a key-value store of oneCCL on the first member, which
  /// holds `creation_lock` meanwhile. For host memory or, with `queues`, for memory of the device and context of a
  /// workspace. Blocks until all members have joined; throws Error.
  CppChannel(const Api& api, CreationLock& creation_lock, const Rendezvous& rendezvous);
  CppChannel(const Api& api, CreationLock& creation_lock, const Rendezvous& rendezvous, const QueueBridge& queues,
             const Workspace& workspace);
  ~CppChannel() override;

  [[nodiscard]] Shortcut shortcut() const noexcept override { return {api_.whole_allreduce, handle_}; }
  [[noreturn]] void fail(const Operation& operation, int code) override;

 private:
  void do_carry_out(const Operation& operation, Workspace& workspace) override;
  void do_enqueue(const Operation& operation, Workspace& workspace) override;

  /// Calls Channel::meet(); `make` creates the communicator from the key-value store.
  template <typename Make>
  void meet(CreationLock& creation_lock, const Rendezvous& rendezvous, const Make& make);
  /// Issues the operation and passes its event to `finish`.
  template <typename Finish>
  void start(const Operation& operation, Workspace& workspace, const Finish& finish);
  void use(Workspace& workspace);
  [[nodiscard]] int issue(const Operation& operation, Event* event);
  [[nodiscard]] int issue_gather(const Operation& operation, Event* event);
  [[nodiscard]] int issue_scatter(const Operation& operation, Event* event);
  [[nodiscard]] int exchange(const Operation& operation, const void* in, const std::uint64_t* in_counts, void* out,
                             const std::uint64_t* out_counts, Event* event);

  /// Counts that are 0 for all ranks but `peer`. Valid until the next call.
  [[nodiscard]] const std::uint64_t* only(int peer, std::uint64_t count);
  /// The layout, or one of equal blocks if it has no counts. Valid until the next call.
  [[nodiscard]] BlockLayout layout_or_equal(const BlockLayout& layout, std::uint64_t count);
  /// The blocks without gaps: in place if they have none, else a copy.
  [[nodiscard]] const void* packed(const BlockLayout& layout, const void* base, std::size_t width);
  /// Memory to receive blocks without gaps: their final place if they have none, else scratch memory that unpack()
  /// copies from.
  [[nodiscard]] void* receive(const BlockLayout& layout, void* base, std::size_t width);
  void unpack();

  const Api& api_;
  Handle* handle_ = nullptr;
  // Counts per rank, for operations that are built from another one of oneCCL.
  std::vector<std::uint64_t> nothing_;
  std::vector<std::uint64_t> only_;
  std::vector<std::uint64_t> equal_;
  const QueueBridge* queues_ = nullptr;  ///< null: the channel is for host memory
  std::uint64_t bound_ = 0;              ///< number of the workspace whose stream oneCCL uses
  Workspace* workspace_ = nullptr;       ///< of the current operation
  struct {
    BlockLayout layout;
    void* base = nullptr;
    std::size_t width = 0;
  } unpacking_;
};

}  // namespace tutti::ccl
