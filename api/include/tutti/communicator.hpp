#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/buffer.hpp"
#include "tutti/call_state.hpp"
#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/operation.hpp"
#include "tutti/placement.hpp"
#include "tutti/reduction.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/stream.hpp"
#include "tutti/work.hpp"

namespace tutti {

namespace spi {
struct ForeignHandle;
}
namespace detail {
struct CommunicatorState;
}

/// How a single call is to be carried out; all optional.
struct CallOptions {
  Stream stream = {};
  /// Return before the operation has completed; the Work is then waited for.
  bool async = false;
  /// Fail with Error{timeout} when it takes longer; zero: the communicator's own timeout. The message names the late
  /// ranks where the backend can know them.
  std::chrono::nanoseconds timeout{};
};

/// CallOptions of an operation that combines.
struct ReduceOptions {
  Reduction op = Reduction::sum;
  /// Multiplies every contribution first; floating types only.
  double prescale = 1.0;
  Stream stream = {};
  bool async = false;
  std::chrono::nanoseconds timeout{};
};

/// Counts and displacements of a vector form, in elements, one per rank. Without displacements the blocks are packed in
/// rank order. Both must stay until the operation has completed.
struct Blocks {
  std::span<const std::uint64_t> counts;
  std::span<const std::uint64_t> displacements = {};
};

/// What selection says about an operation before it runs.
struct Explanation {
  std::string backend;
  bool emulated = false;  ///< the backend's library has no such operation; it is built from others
  std::string reason;     ///< one sentence: why this backend, and how it is emulated if it is
};

/// Settings of a communicator as a whole.
struct CommunicatorOptions {
  /// Overrides of the environment, e.g. Config().set("TUTTI_BACKEND", "native").
  Config config = {};
  /// Shown in messages and traces.
  std::string name = "world";
};

/// A group of ranks that operate together. A cheap handle: copies share the group; it ends with the last copy.
///
/// Every rank of the group calls the same operations in the same order. Calls block until the result is there unless a
/// device stream or `async` says otherwise. Buffers may be identical (in-place) where the operation's comment says so
/// and must not overlap otherwise; a count of zero is allowed. All errors are tutti::Error; after peer_failure,
/// timeout, aborted or a disagreement of the ranks the communicator is good for nothing but destruction.
///
/// Threads: communicators are independent of each other and may be used at the same time from different threads. One
/// communicator may be used from several threads if the caller orders the calls. abort() may be called from any thread.
class TUTTI_API Communicator {
 public:
  /// No group; everything but assignment and destruction is an error.
  Communicator() noexcept = default;
  Communicator(const Communicator&) noexcept = default;
  Communicator& operator=(const Communicator&) noexcept = default;
  Communicator(Communicator&& other) noexcept
      : state_(std::move(other.state_)), call_(std::exchange(other.call_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    state_ = std::move(other.state_);
    call_ = std::exchange(other.call_, nullptr);
    return *this;
  }
  /// Collective over the ranks of the rendezvous.
  explicit Communicator(const Rendezvous& rendezvous, const CommunicatorOptions& options = {});

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// The backend that serves this communicator, e.g. "native".
  [[nodiscard]] std::string_view backend() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Combines the ranks' inputs; every rank gets the result. `in` may be `out`.
  Work allreduce(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options = {}) const;
  Work allreduce(const Buffer& in_out, const ReduceOptions& options = {}) const;
  /// Every rank gets all inputs in rank order. In-place: `in` is this rank's block of `out`.
  Work allgather(const ConstBuffer& in, const Buffer& out, const CallOptions& options = {}) const;
  /// allgather with a block length per rank.
  Work allgatherv(const ConstBuffer& in, const Buffer& out, const Blocks& out_blocks,
                  const CallOptions& options = {}) const;
  /// Combines the inputs, size() blocks each; rank r gets block r. In-place: `out` is this rank's block of `in`.
  Work reduce_scatter(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options = {}) const;
  /// The root's buffer replaces everybody's.
  Work broadcast(const Buffer& in_out, int root, const CallOptions& options = {}) const;
  /// The root's `in` arrives in everybody's `out`; `in` is looked at on the root only and may be `out` there.
  Work broadcast(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options = {}) const;
  /// Combines the inputs; the root gets the result. `out` is looked at on the root only and may be `in`.
  Work reduce(const ConstBuffer& in, const Buffer& out, int root, const ReduceOptions& options = {}) const;
  /// The root gets all inputs in rank order. In-place on the root: `in` is its block of `out`.
  Work gather(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options = {}) const;
  /// gather with a block length per rank; `out_blocks` is looked at on the root only.
  Work gatherv(const ConstBuffer& in, const Buffer& out, const Blocks& out_blocks, int root,
               const CallOptions& options = {}) const;
  /// Rank r gets block r of the root's input. In-place on the root: `out` is its block of `in`.
  Work scatter(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options = {}) const;
  /// scatter with a block length per rank; `in_blocks` is looked at on the root only.
  Work scatterv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out, int root,
                const CallOptions& options = {}) const;
  /// Block j of rank i's input becomes block i of rank j's output. Not in-place.
  Work alltoall(const ConstBuffer& in, const Buffer& out, const CallOptions& options = {}) const;
  /// alltoall with block lengths of their own for each pair. Not in-place.
  Work alltoallv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out, const Blocks& out_blocks,
                 const CallOptions& options = {}) const;
  /// Sends to one rank; matched with its recv() calls from this rank in order, equal count and type. May block until
  /// the peer receives: exchange in a group(). Messages on host memory do not wait for collectives that are under way;
  /// those on memory of devices are carried out in the order of the calls.
  Work send(const ConstBuffer& in, int peer, const CallOptions& options = {}) const;
  Work recv(const Buffer& out, int peer, const CallOptions& options = {}) const;
  /// Returns when all ranks have called it.
  Work barrier(const CallOptions& options = {}) const;

  /// Runs `body`; the operations it calls on this communicator are collected and carried out together when it returns,
  /// as if at the same time: a send and a recv to the same peer cannot deadlock. Their options' `async` is ignored;
  /// group() blocks, and the shortest `timeout` of any of them is that of all. An exception from `body` discards what
  /// was collected.
  void group(const std::function<void()>& body) const;

  /// Collective. Ranks with the same colour make a new group, ordered by key, then by rank. A negative colour gets an
  /// empty communicator.
  [[nodiscard]] Communicator split(int color, int key = 0, std::string name = {}) const;
  /// Collective. The same ranks in a group of their own.
  [[nodiscard]] Communicator duplicate(std::string name = {}) const;

  /// Gives up: this rank's operations fail with Error{aborted} from now on, and where the backend can tell them so do
  /// the other ranks', those that already wait included.
  void abort() const noexcept;

  /// Which backend such an operation gets and why. Local.
  [[nodiscard]] Explanation explain(OpKind kind, DataType type = DataType::float32,
                                    Reduction reduction = Reduction::sum) const;

  /// The device that this rank is to compute on, by its place among the ranks of its host and by TUTTI_DEVICE; see
  /// tutti/placement.hpp for `module` and the errors. Local: communicates with nobody. A communicator that was split
  /// from another one gives the same answer as that one, since the rank has not moved.
  [[nodiscard]] Placement placement(std::string_view module = {}) const;

  /// The settings in force for this communicator.
  [[nodiscard]] const Config& config() const;

 private:
  friend TUTTI_API Communicator adopt(const spi::ForeignHandle& handle, const CommunicatorOptions& options);
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state) noexcept;
  Work allreduce_checked(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const;

  std::shared_ptr<detail::CommunicatorState> state_;
  detail::CallState* call_ = nullptr;  // part of *state_
};

// Inline, so that what the compiler knows of the arguments costs nothing: this is the call programs make most.
inline Work Communicator::allreduce(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const {
  const bool plain_options =
      !options.async && options.prescale == 1.0 && options.stream.is_host() && options.timeout.count() == 0;
  if (call_ != nullptr && plain_options && call_->takes_allreduce(in, out, options.op)) [[likely]] {
    call_->allreduce(in, out, options.op);
    return {};
  }
  // Copies, so that the address of what the caller made is not taken and it can stay in registers.
  return allreduce_checked(ConstBuffer(in), Buffer(out), ReduceOptions(options));
}

/// The communicator of all ranks of the job, found from how the program was started: `tutti run`, RANK and WORLD_SIZE,
/// or the launcher of a backend; alone otherwise. Collective. Each call makes a new group.
[[nodiscard]] TUTTI_API Communicator world(const CommunicatorOptions& options = {});

/// Communicators for `size` ranks that are threads of this process; element r is for the thread that plays rank r.
[[nodiscard]] TUTTI_API std::vector<Communicator> local_group(int size, const CommunicatorOptions& options = {});

}  // namespace tutti
