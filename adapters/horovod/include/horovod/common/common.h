#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "message.h"

#pragma GCC visibility push(default)

/// The device of tensors in host memory.
#define CPU_DEVICE_ID (-1)
#define RANK_ZERO 0
/// Names of tensors that have none of their own.
#define JOIN_TENSOR_NAME "join.noname"
#define BARRIER_TENSOR_NAME "barrier.noname"

/// Classes between Horovod's engine and a framework, with upstream's names and signatures.
namespace horovod {
namespace common {

enum Framework { TENSORFLOW, PYTORCH, MXNET, XLA };
enum StatusType { OK, UNKNOWN_ERROR, PRECONDITION_ERROR, ABORTED, INVALID_ARGUMENT, IN_PROGRESS };
enum DeviceType { CPU, GPU };

/// An event of a device stream; empty in host memory.
struct Event {};

/// Outcome of a call or of a tensor.
class Status {
 public:
  Status();
  static Status OK();
  static Status UnknownError(const std::string& message);
  static Status PreconditionError(const std::string& message);
  static Status Aborted(const std::string& message);
  static Status InvalidArgument(const std::string& message);
  static Status InProgress();
  bool ok() const;
  bool in_progress() const;
  StatusType type() const;
  const std::string& reason() const;
  Event event;

 private:
  Status(StatusType type, std::string reason);

  StatusType type_ = StatusType::OK;
  std::string reason_;
};

/// Statuses of calls before initialization, of tensors that a shutdown ends, and of names in flight.
extern const Status NOT_INITIALIZED_ERROR;
extern const Status SHUT_DOWN_ERROR;
extern const Status DUPLICATE_NAME_ERROR;

/// Lengths of a tensor's dimensions; without any, a scalar.
class TensorShape {
 public:
  TensorShape() = default;
  TensorShape(std::vector<int64_t> dimensions) : shape_(std::move(dimensions)) {}  // NOLINT: as upstream
  void AddDim(int64_t dim);
  void AppendShape(TensorShape& other);

  std::string DebugString() const;
  int dims() const;
  int64_t dim_size(int idx) const;
  int64_t num_elements() const;
  const std::vector<int64_t>& to_vector() const;

  bool operator==(const TensorShape& other) const { return shape_ == other.shape_; }
  bool operator!=(const TensorShape& other) const { return shape_ != other.shape_; }

 private:
  std::vector<int64_t> shape_;
};

/// Tells whether the data of a tensor has been computed. Asked by a thread of the library.
class ReadyEvent {
 public:
  virtual bool Ready() const = 0;
  virtual ~ReadyEvent() = default;
};

/// Events that must all be ready; null ones count as ready.
class ReadyEventList {
 public:
  bool Ready() const {
    for (const auto& event : events_)
      if (event != nullptr && !event->Ready()) return false;
    return true;
  }
  void AddReadyEvent(const std::shared_ptr<ReadyEvent>& event) { events_.push_back(event); }
  int size() const { return static_cast<int>(events_.size()); }

 private:
  std::vector<std::shared_ptr<ReadyEvent>> events_;
};

class OpContext;

/// Memory of the framework that outlives a tensor. The library asks for none.
class PersistentBuffer {
 public:
  virtual const void* AccessData(std::shared_ptr<OpContext> context) const = 0;
  virtual ~PersistentBuffer() = default;
};

// The const results are upstream's: functions that override them may have them as well.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-qualifiers"

/// A tensor of the framework; its memory is valid while the object lives.
class Tensor {
 public:
  virtual const DataType dtype() const = 0;
  virtual const TensorShape shape() const = 0;
  virtual const void* data() const = 0;
  virtual int64_t size() const = 0;
  virtual ~Tensor() = default;
};

#pragma GCC diagnostic pop

/// Allocates outputs in the framework. Called by a thread of the library, before the callback of the tensor.
class OpContext {
 public:
  virtual Status AllocatePersistent(int64_t size, std::shared_ptr<PersistentBuffer>* tensor) = 0;
  virtual Status AllocateOutput(TensorShape shape, std::shared_ptr<Tensor>* tensor,
                                std::shared_ptr<ReadyEvent>* event = nullptr) = 0;
  virtual Status AllocateOutput(int output_index, TensorShape shape, std::shared_ptr<Tensor>* tensor,
                                std::shared_ptr<ReadyEvent>* event = nullptr) {
    if (output_index == 0) return AllocateOutput(std::move(shape), tensor, event);
    throw std::logic_error("output_index != 0 not supported");
  }
  virtual Status AllocateZeros(int64_t num_elements, DataType dtype, std::shared_ptr<Tensor>* tensor) = 0;
  virtual Framework framework() const = 0;
  virtual ~OpContext() = default;
};

/// Called once when a tensor is complete, by a thread of the library. It must not wait for other tensors.
using StatusCallback = std::function<void(const Status&)>;

}  // namespace common
}  // namespace horovod

#pragma GCC visibility pop
