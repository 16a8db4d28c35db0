#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/types/buffer.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti {
class Communicator;
}

/// For backends whose ranks submit tensors by name, in any order; programs reach them through tutti/horovod.hpp.
namespace tutti::spi {

/// Operations on named tensors.
enum class TensorOp : std::uint8_t { allreduce, allgather, broadcast, join, adasum, alltoall, barrier, reducescatter };

/// A tensor to be processed; buffers as in the functions of tutti/horovod.hpp.
struct NamedTensor {
  TensorOp op = TensorOp::allreduce;
  std::string name = {};
  ConstBuffer in = {};
  Buffer out = {};
  std::vector<std::int64_t> shape = {};   ///< of `in`; empty: one dimension
  std::vector<std::int64_t> splits = {};  ///< alltoall: rows for each rank; empty: equal parts
  Reduction reduction = Reduction::sum;
  int root = 0;
  double prescale = 1.0;
  double postscale = 1.0;
  std::optional<DataType> wire_type = {};  ///< float16 or bfloat16: an allreduce of float32 or float64 is exchanged so
  Memory where = {};                       ///< of the buffers
  Stream stream = {};                      ///< the tensor is ready when this stream has done its work so far
  int process_set = 0;
  int priority = 0;  ///< a higher one goes first
  std::function<void(const Error*)> callback = {};
};

/// A tensor that was submitted. Must not outlive the communicator. Thread-safe.
class TUTTI_API NamedWork {
 public:
  virtual ~NamedWork() = default;
  NamedWork(const NamedWork&) = delete;
  NamedWork& operator=(const NamedWork&) = delete;

  /// Whether the tensor is complete, with an error or without.
  [[nodiscard]] virtual bool poll() = 0;
  /// Waits until it is complete (true) or `until` has passed (false). Throws its Error.
  [[nodiscard]] virtual bool wait(Deadline until) = 0;
  // Of a complete tensor:
  /// The output, if the caller gave no buffer for it.
  [[nodiscard]] virtual std::span<const std::byte> output() const = 0;
  /// Rows from each rank, of an allgather or alltoall.
  [[nodiscard]] virtual std::span<const std::int64_t> received() const = 0;
  /// The rank that joined last, of a join.
  [[nodiscard]] virtual int last_joined() const = 0;

 protected:
  NamedWork() = default;
};

/// Position of a rank among those of its host, and of the host among the hosts.
struct LocalPosition {
  int local_rank = 0;
  int local_size = 1;
  int cross_rank = 0;
  int cross_size = 1;
  bool is_homogeneous = true;  ///< every host has the same number of ranks
};

/// State of the automatic tuning of an engine.
struct TuningState {
  bool is_active = false;
  std::uint64_t fusion_threshold = 0;  ///< bytes, in force
  double cycle_ms = 0;                 ///< in force
  bool cache = true;                   ///< in force
  double best_score = 0;               ///< bytes per microsecond; 0: nothing has been measured
};

/// The engine of a communicator. Functions are thread-safe unless they say otherwise.
class TUTTI_API NamedEngine {
 public:
  virtual ~NamedEngine() = default;
  NamedEngine(const NamedEngine&) = delete;
  NamedEngine& operator=(const NamedEngine&) = delete;

  /// Submits tensors; several ones are a group, which is processed when all of them are ready. Does not wait. Throws
  /// Error{invalid_argument} for a name that is in use or an argument that is wrong on this rank alone.
  [[nodiscard]] virtual std::vector<std::shared_ptr<NamedWork>> enqueue(std::vector<NamedTensor> tensors) = 0;

  /// Makes a process set of some ranks and returns its number. Collective over all ranks of the communicator, which all
  /// give the same ranks; not to be called by several threads at once.
  [[nodiscard]] virtual int add_process_set(std::span<const int> ranks) = 0;
  /// Ends a process set; collective as above.
  virtual void remove_process_set(int id) = 0;
  [[nodiscard]] virtual std::vector<int> process_sets() const = 0;
  /// Throws Error{invalid_argument} if there is no such set.
  [[nodiscard]] virtual std::vector<int> process_set_ranks(int id) const = 0;

  [[nodiscard]] virtual LocalPosition position() const = 0;
  /// Writes a timeline on rank 0; nothing happens on the others. Throws Error{system} that names the file.
  virtual void start_timeline(const std::string& path, bool marks_cycles) = 0;
  virtual void stop_timeline() = 0;
  [[nodiscard]] virtual TuningState tuning() const = 0;
  /// The last warning about tensors that only some ranks have submitted; empty when a tensor has been completed since.
  [[nodiscard]] virtual std::string stall_warning() const = 0;

 protected:
  NamedEngine() = default;
};

/// The engine of the communicator's backend. Throws Error{invalid_usage} that names the backend if it has none.
TUTTI_API NamedEngine& named_engine(const Communicator& communicator);

}  // namespace tutti::spi
