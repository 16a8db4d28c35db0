#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/identifier.hpp"
#include "common/peer_watch.hpp"
#include "common/scratch_pool.hpp"
#include "common/stream_library.hpp"
#include "nccl_api.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::nccl {

/// An NCCL communicator and the calls on it.
///
/// The communicator is non-blocking: a call that has to wait for another rank (while connections are made) returns
/// ncclInProgress and continues in the background, so that a timeout or an abort can end it. Every call holds the
/// mutex, and only briefly: ncclCommAbort frees the communicator, so no other call may be running then.
class Channel final : public common::StreamLibrary {
 public:
  /// Collective over the members of the context's rendezvous. Throws Error{timeout} when not all members join within
  /// the rendezvous' timeout, Error{peer_failure} when the process of a member has ended.
  Channel(const Api& api, spi::DeviceRuntime& runtime, Device device, const spi::CreateContext& context);
  ~Channel() override;

  void enqueue(std::span<const Operation> operations, Finish& finish) override;
  [[nodiscard]] std::optional<Error> asynchronous_error() override;
  void abort() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;

  void make(const spi::CreateContext& context, const common::CheckOthers& check_others);
  void check_device(const Operation& operation) const;

  // The caller holds the mutex.
  [[nodiscard]] ncclResult_t issue(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_reduction(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_reduce_scatterv(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_broadcast(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_allgatherv(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_exchange(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_barrier(const Operation& operation);
  /// Ends the group, also after a failed call. Returns `result` if that is a failure, else the result of ncclGroupEnd.
  [[nodiscard]] ncclResult_t end_group(ncclResult_t result);
  [[nodiscard]] ncclResult_t make_scaled_sum(const Operation& operation, ncclRedOp_t* made);

  /// Issues the operations, in an NCCL group if there are several.
  void issue_all(std::span<const Operation> operations);

  /// Waits until calls that continue in the background are complete. Throws their error, or Error{timeout} with the
  /// text `what` after `time`.
  void settle(std::chrono::nanoseconds time, const char* what, const common::CheckOthers& check_others = {});
  /// State of the communicator: ncclInProgress while a call continues in the background. Throws if the communicator has
  /// failed or was aborted.
  [[nodiscard]] ncclResult_t state();

  const Api& api_;
  spi::DeviceRuntime& runtime_;
  Device device_;
  int rank_;
  int size_;
  common::PeerWatch watch_;
  common::ScratchPool pool_;
  std::shared_ptr<common::ScratchBlock> barrier_block_;

  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;  ///< null: aborted
  std::vector<ncclRedOp_t> scaled_sums_;
  struct Gone {
    int rank;
    Clock::time_point since;
  };
  std::optional<Gone> gone_;  ///< the first rank that was seen to have ended; others may end as a consequence
};

}  // namespace tutti::nccl
