#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/types/buffer.hpp"

namespace tutti::spi {
class NamedEngine;
class NamedWork;
}  // namespace tutti::spi

/// Horovod's model over any backend: the ranks submit tensors by name from any thread and in any order; the engine
/// processes a tensor when all ranks of its process set have submitted it, and fuses small ones. Names, semantics and
/// messages are Horovod's; docs/horovod.md lists the differences.
namespace tutti::horovod {

/// Horovod's reductions, with its numbers.
enum class ReduceOp : std::int32_t { average = 0, sum = 1, adasum = 2, min = 3, max = 4, product = 5 };

/// Type in which the ranks exchange tensors of float32 and float64.
enum class Compression : std::uint8_t { none, float16, bfloat16 };

/// Called once by a thread of the engine when a tensor is complete; null: success. It may submit other tensors and must
/// not wait for them.
using Callback = std::function<void(const Error* error)>;

/// Options of a tensor; all are optional.
struct TensorOptions {
  ReduceOp op = ReduceOp::average;
  double prescale = 1.0;                        ///< factor for every contribution; floating-point types only
  double postscale = 1.0;                       ///< factor for the result; floating-point types only
  Compression compression = Compression::none;  ///< of an allreduce; the same on all ranks
  int process_set = 0;
  int priority = 0;  ///< a higher one goes first, the same on all ranks; see TUTTI_HOROVOD_PARTITION
  std::vector<std::int64_t> shape = {};  ///< of the input; empty: one dimension
  /// Buffers in device memory: the stream whose work so far makes the input. The handle is complete when the result is
  /// in its place. Without a stream, the input is ready and belongs to tutti's own context (Buffer::where names the
  /// device).
  Stream stream = {};
  Callback callback = {};
};

/// A tensor that was submitted. A cheap handle that may be dropped: the tensor is processed all the same, so its
/// buffers must stay valid until it is complete. Thread-safe.
class TUTTI_API Handle {
 public:
  Handle() noexcept = default;
  Handle(Communicator communicator, std::shared_ptr<spi::NamedWork> work) noexcept;

  /// Whether the tensor is complete, with an error or without.
  [[nodiscard]] bool poll() const;
  /// Blocks until the tensor is complete; throws its Error.
  void wait() const;
  /// The same, but returns false after `duration`.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds duration) const;
  /// The result of an allgather, alltoall or reducescatter without an output of the caller, in memory of the device if
  /// the input is; lives as long as a copy of the handle.
  [[nodiscard]] std::span<const std::byte> output() const;
  template <typename T>
  [[nodiscard]] std::span<const T> output_as() const {
    const auto bytes = output();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Rows that each rank contributed to the result of an allgather or alltoall.
  [[nodiscard]] std::span<const std::int64_t> received() const;
  /// The rank that joined last, of a complete join.
  [[nodiscard]] int last_joined() const;

 private:
  friend class Engine;
  [[nodiscard]] spi::NamedWork& checked() const;

  Communicator communicator_;  // keeps the engine
  std::shared_ptr<spi::NamedWork> work_;
};

/// A tensor of a group; its shape and callback go before those of the options of the group.
struct GroupedTensor {
  std::string_view name;
  ConstBuffer in;
  Buffer out;
  std::vector<std::int64_t> shape = {};
  Callback callback = {};
};

/// The engine of a communicator whose backend is `horovod:...`. A cheap handle. All functions throw Error.
class TUTTI_API Engine {
 public:
  /// Throws Error{invalid_usage} if the backend of the communicator is another one.
  explicit Engine(Communicator communicator);

  [[nodiscard]] const Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] int rank() const noexcept { return communicator_.rank(); }
  [[nodiscard]] int size() const noexcept { return communicator_.size(); }
  [[nodiscard]] int local_rank() const;
  [[nodiscard]] int local_size() const;
  [[nodiscard]] int cross_rank() const;
  [[nodiscard]] int cross_size() const;
  [[nodiscard]] bool is_homogeneous() const;

  // These submit a tensor and return at once. The name is that of the tensor on all ranks; a name that is in flight is
  // an Error{invalid_argument}. Ranks that do not agree about type, shape, operation, root or factors get an
  // Error{invalid_argument} from wait(), and the engine goes on.
  /// `in` may be `out`.
  Handle allreduce(std::string_view name, const ConstBuffer& in, const Buffer& out,
                   const TensorOptions& options = {}) const;
  /// Tensors that are processed together, as soon as all of them are ready on all ranks.
  std::vector<Handle> grouped_allreduce(std::span<const GroupedTensor> tensors,
                                        const TensorOptions& options = {}) const;
  /// Joins the inputs of all ranks along the first dimension, which may differ. Without an output (`out.data` null) the
  /// engine allocates it.
  Handle allgather(std::string_view name, const ConstBuffer& in, const Buffer& out = {},
                   const TensorOptions& options = {}) const;
  Handle broadcast(std::string_view name, const ConstBuffer& in, const Buffer& out, int root,
                   const TensorOptions& options = {}) const;
  /// As grouped_allreduce(). The tensors of a group may have different shapes and types.
  std::vector<Handle> grouped_allgather(std::span<const GroupedTensor> tensors,
                                        const TensorOptions& options = {}) const;
  /// Sends `splits[r]` rows to rank r; empty: equal parts.
  Handle alltoall(std::string_view name, const ConstBuffer& in, std::span<const std::int64_t> splits = {},
                  const Buffer& out = {}, const TensorOptions& options = {}) const;
  /// Reduces (sum or average) and gives each rank a part of the rows; the first ranks get one more if they are no
  /// multiple.
  Handle reducescatter(std::string_view name, const ConstBuffer& in, const Buffer& out = {},
                       const TensorOptions& options = {}) const;
  /// As grouped_allreduce().
  std::vector<Handle> grouped_reducescatter(std::span<const GroupedTensor> tensors,
                                            const TensorOptions& options = {}) const;
  /// Contributes zeros to the allreduces of the other ranks until all have joined; returns the rank that joined last.
  [[nodiscard]] int join(int process_set = 0) const;
  /// Returns when all ranks of the set have called it.
  void barrier(int process_set = 0) const;
  /// These begin a join or a barrier and return at once.
  [[nodiscard]] Handle join_async(int process_set = 0, const Callback& callback = {}) const;
  [[nodiscard]] Handle barrier_async(int process_set = 0, const Callback& callback = {}) const;

  /// Makes a process set of some ranks; collective over all ranks of the communicator. Returns its number.
  [[nodiscard]] int add_process_set(std::span<const int> ranks) const;
  void remove_process_set(int id) const;
  [[nodiscard]] std::vector<int> process_sets() const;
  [[nodiscard]] std::vector<int> process_set_ranks(int id) const;
  /// This rank's number in a process set. Throws Error{invalid_argument} if it does not belong to the set.
  [[nodiscard]] int process_set_rank(int id) const;
  [[nodiscard]] int process_set_size(int id) const;
  /// Whether this rank belongs to a process set.
  [[nodiscard]] bool process_set_included(int id) const;

  /// Writes Horovod's timeline on rank 0 from now on; other ranks do nothing.
  void start_timeline(const std::string& path, bool marks_cycles = false) const;
  void stop_timeline() const;

  /// State of autotune.
  struct Autotune {
    bool is_active = false;
    std::uint64_t fusion_threshold = 0;  ///< bytes
    double cycle_ms = 0;
    bool cache = true;
    double best_score = 0;  ///< bytes per microsecond
  };
  [[nodiscard]] Autotune autotune() const;

  /// Horovod's warning that a tensor has been waiting for HOROVOD_STALL_CHECK_TIME_SECONDS, with the missing ranks and
  /// their tensors; empty when a tensor has been completed since the last one. The library prints nothing.
  [[nodiscard]] std::string stall_warning() const;

 private:
  Communicator communicator_;
  spi::NamedEngine* engine_;
};

/// Creates the engine of this process over all ranks of the job, on the backend `horovod` or on what TUTTI_BACKEND
/// names
/// (`native` becomes `horovod:native`). Collective. Nothing happens if there is one.
TUTTI_API void init(const CommunicatorOptions& options = {});
/// Ends the engine of this process. Tensors in flight end with an error, on all ranks.
TUTTI_API void shutdown();
[[nodiscard]] TUTTI_API bool is_initialized() noexcept;
/// A handle of the engine of this process. Throws Error{invalid_usage} before init().
[[nodiscard]] TUTTI_API Engine engine();

}  // namespace tutti::horovod
