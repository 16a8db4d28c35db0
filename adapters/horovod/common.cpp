// Classes that frameworks share with the library.
#include "horovod/common/common.h"

#include <numeric>
#include <string>

namespace horovod {
namespace common {

Status::Status() = default;
Status::Status(StatusType type, std::string reason) : type_(type), reason_(std::move(reason)) {}
Status Status::OK() { return {}; }
Status Status::UnknownError(const std::string& message) { return {UNKNOWN_ERROR, message}; }
Status Status::PreconditionError(const std::string& message) { return {PRECONDITION_ERROR, message}; }
Status Status::Aborted(const std::string& message) { return {ABORTED, message}; }
Status Status::InvalidArgument(const std::string& message) { return {INVALID_ARGUMENT, message}; }
Status Status::InProgress() { return {IN_PROGRESS, {}}; }
bool Status::ok() const { return type_ == StatusType::OK; }
bool Status::in_progress() const { return type_ == IN_PROGRESS; }
StatusType Status::type() const { return type_; }
const std::string& Status::reason() const { return reason_; }

const Status NOT_INITIALIZED_ERROR = Status::PreconditionError("Horovod has not been initialized; use hvd.init().");
const Status SHUT_DOWN_ERROR = Status::UnknownError(
    "Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, "
    "allgather or broadcast a tensor after one of the ranks finished execution. If the shutdown was caused by an "
    "exception, you should see the exception in the log before the first shutdown message.");
const Status DUPLICATE_NAME_ERROR = Status::InvalidArgument(
    "Requested to allreduce, allgather, or broadcast a tensor with the same name as another tensor that is currently "
    "being processed.  If you want to request another tensor, use a different tensor name.");

void TensorShape::AddDim(int64_t dim) { shape_.push_back(dim); }
void TensorShape::AppendShape(TensorShape& other) {
  shape_.insert(shape_.end(), other.shape_.begin(), other.shape_.end());
}
int TensorShape::dims() const { return static_cast<int>(shape_.size()); }
int64_t TensorShape::dim_size(int idx) const { return shape_.at(static_cast<std::size_t>(idx)); }
int64_t TensorShape::num_elements() const {
  return std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
}
const std::vector<int64_t>& TensorShape::to_vector() const { return shape_; }
std::string TensorShape::DebugString() const {
  std::string text = "[";
  for (const int64_t dimension : shape_) text += (text.size() == 1 ? "" : ", ") + std::to_string(dimension);
  return text + "]";
}

const std::string& DataType_Name(DataType value) {
  static const std::vector<std::string> names = {"uint8", "int8",    "uint16",  "int16",   "int32",
                                                 "int64", "float16", "float32", "float64", "bool"};
  static const std::string unknown = "<unknown>";
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : unknown;
}

std::size_t DataType_Size(DataType value) {
  switch (value) {
    case HOROVOD_UINT8:
    case HOROVOD_INT8:
    case HOROVOD_BOOL:
      return 1;
    case HOROVOD_UINT16:
    case HOROVOD_INT16:
    case HOROVOD_FLOAT16:
      return 2;
    case HOROVOD_INT32:
    case HOROVOD_FLOAT32:
      return 4;
    case HOROVOD_INT64:
    case HOROVOD_FLOAT64:
      return 8;
  }
  throw std::logic_error("Type " + std::to_string(static_cast<int>(value)) + " is not supported.");
}

}  // namespace common
}  // namespace horovod
