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

/// One communicator of NCCL and the calls on it.
///
/// It is one of those that do not block: a call that has to wait for another rank (while connections are made) returns
/// and says that it goes on in the background, so that a timeout or an abort can end it. Each call holds the mutex, and
/// none holds it for long; NCCL frees a communicator when it aborts it, so no call may be under way then.
class Channel final : public common::StreamLibrary {
 public:
  /// Collective over the members of the context's rendezvous. Throws Error{timeout} when not all have come in the
  /// rendezvous' time, Error{peer_failure} when one of them has ended.
  Channel(const Api& api, spi::DeviceRuntime& runtime, Device device, const spi::CreateContext& context);
  ~Channel() override;

  void enqueue(std::span<const Operation> operations, Finish& finish) override;
  [[nodiscard]] std::optional<Error> asynchronous_error() override;
  void abort() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;

  void make(const spi::CreateContext& context, const common::CheckOthers& check_others);
  void check_device(const Operation& operation) const;

  // With the mutex.
  [[nodiscard]] ncclResult_t issue(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_reduction(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_broadcast(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_allgatherv(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_exchange(const Operation& operation);
  [[nodiscard]] ncclResult_t issue_barrier(const Operation& operation);
  /// Ends a group, which has to be in any case; says what `result` of its calls, or else its end, failed with.
  [[nodiscard]] ncclResult_t end_group(ncclResult_t result);
  [[nodiscard]] ncclResult_t make_scaled_sum(const Operation& operation, ncclRedOp_t* made);

  /// Hands them to NCCL, in a group where they are several.
  void issue_all(std::span<const Operation> operations);

  /// Waits until what goes on in the background is over. Throws its error, or Error{timeout} after `time`.
  void settle(std::chrono::nanoseconds time, const char* what, const common::CheckOthers& check_others = {});
  /// The state of the communicator, ncclInProgress while something goes on in the background.
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
  std::optional<Gone> gone_;  ///< the first rank that was seen to have ended: others may end because of it
};

}  // namespace tutti::nccl
