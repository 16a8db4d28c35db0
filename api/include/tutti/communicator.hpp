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

#include "tutti/call_state.hpp"
#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/placement.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/buffer.hpp"
#include "tutti/types/operation.hpp"
#include "tutti/types/reduction.hpp"
#include "tutti/work.hpp"

namespace tutti {

class Communicator;
namespace spi {
struct ForeignHandle;
class NamedEngine;
TUTTI_API NamedEngine& named_engine(const Communicator& communicator);
}  // namespace spi
namespace detail {
struct CommunicatorState;
}

/// Options of a single call; all are optional.
struct CallOptions {
  Stream stream = {};
  /// Return before the operation has completed; the caller then waits on the returned Work.
  bool async = false;
  /// The operation fails with Error{timeout} if it takes longer; zero: the communicator's own timeout. The message
  /// names the late ranks if the backend knows them.
  std::chrono::nanoseconds timeout{};
  /// The caller's name for the operation, e.g. of a tensor: shown to observers and used by backends that match
  /// operations by name. Must stay valid until the operation has completed.
  std::string_view label = {};
};

/// Options of a call that reduces (allreduce, reduce_scatter(v), reduce); all are optional.
struct ReduceOptions {
  Reduction op = Reduction::sum;
  /// Factor for every contribution, applied before the reduction; floating-point types only.
  double prescale = 1.0;
  Stream stream = {};
  bool async = false;
  std::chrono::nanoseconds timeout{};
  std::string_view label = {};
};
/// Counts and displacements of a vector operation (allgatherv, ...), in elements, one per rank. Without displacements
/// the blocks are packed in rank order. The caller keeps both arrays valid until the operation has completed.
struct Blocks {
  std::span<const std::uint64_t> counts;
  std::span<const std::uint64_t> displacements = {};
};

/// Backend choice for an operation, see Communicator::explain().
struct Explanation {
  std::string backend;
  bool emulated = false;  ///< the backend's library lacks the operation; it is composed of other operations
  std::string reason;     ///< one sentence: why this backend was chosen and, if emulated, how
  std::vector<std::string> settings = {};  ///< settings of its library that tutti chose, each as "NAME=value"
  std::string emulation = {};              ///< how the operation is composed, in a few words; empty if it is not
  double expected_us = 0;                  ///< time of the operation by the tuning file; 0: unknown
  std::string next_best = {};              ///< the usable backend that is the next best by the tuning file
  double next_best_us = 0;                 ///< its expected time
};

/// Options of a communicator.
struct CommunicatorOptions {
  /// Settings that override the environment, e.g. Config().set("TUTTI_BACKEND", "native"). The values are checked when
  /// the communicator is made, so that the other ranks can be told of a wrong one.
  Config config = Config::unchecked();
  /// Name of the communicator in messages and traces.
  std::string name = "world";
};

/// A group of ranks that run operations together. A cheap handle: copies share the group, which is destroyed with the
/// last copy.
///
/// Every rank of the group calls the same operations in the same order. Calls block until the result is available,
/// except calls with a device stream or `async`. Input and output may be the same buffer (in-place) if the operation's
/// comment says so and must not overlap otherwise; a count of zero is allowed. All errors are tutti::Error. After
/// peer_failure, timeout, aborted or ranks that called different operations, the communicator can only be destroyed.
///
/// Threads: communicators are independent of each other and may be used at the same time from different threads. One
/// communicator may be used from several threads if the caller serialises the calls. abort() may be called from any
/// thread.
///
/// Processes: a communicator belongs to the process that created it. In a child that this process forks, every call
/// throws Error{invalid_usage}.
class TUTTI_API Communicator {
 public:
  /// An empty communicator without a group: operations on it throw Error{invalid_usage}.
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
  /// Creates a group of the ranks of `rendezvous`. Collective; blocks until all of them take part.
  explicit Communicator(const Rendezvous& rendezvous, const CommunicatorOptions& options = {});

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// The backend that serves this communicator, e.g. "native".
  [[nodiscard]] std::string_view backend() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Reduces the inputs of all ranks; every rank gets the result. `in` may be `out`.
  Work allreduce(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options = {}) const;
  Work allreduce(const Buffer& in_out, const ReduceOptions& options = {}) const;
  /// Every rank gets all inputs in rank order. In-place: `in` is this rank's block of `out`.
  Work allgather(const ConstBuffer& in, const Buffer& out, const CallOptions& options = {}) const;
  /// allgather with a block length per rank.
  Work allgatherv(const ConstBuffer& in, const Buffer& out, const Blocks& out_blocks,
                  const CallOptions& options = {}) const;
  /// Reduces the inputs of all ranks, size() blocks each; rank r gets block r of the result. In-place: `out` is this
  /// rank's block of `in`.
  Work reduce_scatter(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options = {}) const;
  /// reduce_scatter with a block length per rank, equal on all ranks; without displacements.
  Work reduce_scatterv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out,
                       const ReduceOptions& options = {}) const;
  /// Copies the root's buffer to all other ranks.
  Work broadcast(const Buffer& in_out, int root, const CallOptions& options = {}) const;
  /// Copies the root's `in` to `out` on every rank; `in` is used on the root only and may be `out` there.
  Work broadcast(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options = {}) const;
  /// Reduces the inputs of all ranks; only the root gets the result. `out` is used on the root only and may be `in`.
  Work reduce(const ConstBuffer& in, const Buffer& out, int root, const ReduceOptions& options = {}) const;
  /// The root gets all inputs in rank order. In-place on the root: `in` is its block of `out`.
  Work gather(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options = {}) const;
  /// gather with a block length per rank; `out_blocks` is used on the root only.
  Work gatherv(const ConstBuffer& in, const Buffer& out, const Blocks& out_blocks, int root,
               const CallOptions& options = {}) const;
  /// Rank r gets block r of the root's input. In-place on the root: `out` is its block of `in`.
  Work scatter(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options = {}) const;
  /// scatter with a block length per rank; `in_blocks` is used on the root only.
  Work scatterv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out, int root,
                const CallOptions& options = {}) const;
  /// Block j of rank i's input becomes block i of rank j's output. Not in-place.
  Work alltoall(const ConstBuffer& in, const Buffer& out, const CallOptions& options = {}) const;
  /// alltoall with a separate block length for each pair of ranks. Not in-place.
  Work alltoallv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out, const Blocks& out_blocks,
                 const CallOptions& options = {}) const;
  /// Sends to rank `peer`, in a group also to this rank itself. The n-th send() to a peer matches the peer's n-th
  /// recv() from this rank; count and type must be equal. May block until the peer receives; use group() for exchanges.
  /// Messages in host memory do not wait for pending collectives; messages in device memory are carried out in the
  /// order of the calls.
  Work send(const ConstBuffer& in, int peer, const CallOptions& options = {}) const;
  Work recv(const Buffer& out, int peer, const CallOptions& options = {}) const;
  /// Returns when all ranks have called it.
  Work barrier(const CallOptions& options = {}) const;

  /// Runs `body`, collects the operations that it calls on this communicator and carries them out together when `body`
  /// returns, as if simultaneously: a send and a recv with the same peer cannot deadlock. Blocks until all have
  /// completed; their `async` is ignored, and the shortest of their timeouts applies to all. An exception from `body`
  /// discards the collected operations.
  void group(const std::function<void()>& body) const;

  /// Collective. Ranks with the same colour form a new group, ordered by key, then by rank. A rank with a negative
  /// colour gets an empty communicator.
  [[nodiscard]] Communicator split(int color, int key = 0, std::string name = {}) const;
  /// Collective. Creates another, independent group of the same ranks.
  [[nodiscard]] Communicator duplicate(std::string name = {}) const;

  /// Makes all operations of this rank fail with Error{aborted} from now on. If the backend can notify the other ranks,
  /// their operations fail as well, including those that are already waiting.
  void abort() const noexcept;

  /// Says which backend carries out such an operation of `count` elements and why. Local: no communication.
  [[nodiscard]] Explanation explain(OpKind kind, DataType type = DataType::float32,
                                    Reduction reduction = Reduction::sum, std::uint64_t count = 1) const;
  /// The same by the message size in bytes, as message_bytes() counts it, and by the kind of memory.
  [[nodiscard]] Explanation explain(OpKind kind, std::uint64_t bytes, DataType type = DataType::float32,
                                    Reduction reduction = Reduction::sum, MemoryKind memory = MemoryKind::host) const;

  /// The device assigned to this rank, derived from TUTTI_DEVICE and from the rank's position among the ranks of its
  /// host; see tutti/placement.hpp for `module` and the errors. Local: no communication. A communicator made by split()
  /// returns the same device as its parent.
  [[nodiscard]] Placement placement(std::string_view module = {}) const;

  /// The settings in force for this communicator.
  [[nodiscard]] const Config& config() const;

 private:
  friend TUTTI_API Communicator world(const CommunicatorOptions& options);
  friend TUTTI_API spi::NamedEngine& spi::named_engine(const Communicator& communicator);
  friend TUTTI_API Communicator adopt(const spi::ForeignHandle& handle, const CommunicatorOptions& options);
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state) noexcept;
  Work allreduce_checked(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const;

  std::shared_ptr<detail::CommunicatorState> state_;
  detail::CallState* call_ = nullptr;  // part of *state_
};

// Inline: this is the most frequent call, and the compiler can evaluate the checks of arguments that it knows.
inline Work Communicator::allreduce(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const {
  const bool plain_options =
      !options.async && options.prescale == 1.0 && options.stream.is_host() && options.timeout.count() == 0;
  if (call_ != nullptr && plain_options && call_->takes_allreduce(in, out, options.op)) [[likely]] {
    call_->allreduce(in, out, options.op, options.label);
    return {};
  }
  // Copies, because taking the address of the caller's objects would keep them out of registers.
  return allreduce_checked(ConstBuffer(in), Buffer(out), ReduceOptions(options));
}

/// Creates a communicator of all ranks of the job. Finds the job from `tutti run`, from RANK, WORLD_SIZE, MASTER_ADDR
/// and MASTER_PORT, or from the launcher of a backend; a program started in another way is a job of one rank.
/// Collective. Each call creates a new group.
[[nodiscard]] TUTTI_API Communicator world(const CommunicatorOptions& options = {});

/// Creates communicators for `size` ranks that are threads of this process; element r is for the thread that acts as
/// rank r. Throws Error{invalid_argument} if `size` is below 1.
[[nodiscard]] TUTTI_API std::vector<Communicator> local_group(int size, const CommunicatorOptions& options = {});

}  // namespace tutti
