#pragma once

#include <cstddef>
#include <string>

#pragma GCC visibility push(default)

/// Types and reductions of Horovod, with its names and numbers.
namespace horovod {
namespace common {

/// Type of a tensor's elements.
enum DataType {
  HOROVOD_UINT8 = 0,
  HOROVOD_INT8 = 1,
  HOROVOD_UINT16 = 2,
  HOROVOD_INT16 = 3,
  HOROVOD_INT32 = 4,
  HOROVOD_INT64 = 5,
  HOROVOD_FLOAT16 = 6,
  HOROVOD_FLOAT32 = 7,
  HOROVOD_FLOAT64 = 8,
  HOROVOD_BOOL = 9,
};

/// How contributions are combined.
enum ReduceOp {
  AVERAGE = 0,
  SUM = 1,
  ADASUM = 2,
  MIN = 3,
  MAX = 4,
  PRODUCT = 5,
};

/// "float32"; "<unknown>" for a number that is no type.
const std::string& DataType_Name(DataType value);
/// Bytes of one element. Throws std::logic_error for a number that is no type.
std::size_t DataType_Size(DataType value);

}  // namespace common
}  // namespace horovod

#pragma GCC visibility pop
