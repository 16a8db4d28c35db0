#include "nccl_types.hpp"

#include <array>
#include <string>

#include "nccl_error.hpp"

namespace tutti::nccl_adapter {
namespace {

constexpr std::array kTypes = {DataType::int8,    DataType::uint8,    DataType::int32,       DataType::uint32,
                               DataType::int64,   DataType::uint64,   DataType::float16,     DataType::float32,
                               DataType::float64, DataType::bfloat16, DataType::float8_e4m3, DataType::float8_e5m2};
static_assert(kTypes.size() == ncclNumTypes);

constexpr std::array kReductionsOfNccl = {Reduction::sum, Reduction::product, Reduction::max, Reduction::min,
                                          Reduction::average};
static_assert(kReductionsOfNccl.size() == ncclNumOps);

}  // namespace

DataType element_type(ncclDataType_t type) {
  const auto index = static_cast<std::size_t>(type);
  if (index >= kTypes.size()) refuse_argument("datatype " + std::to_string(type) + " does not exist");
  return kTypes[index];
}

Reduction reduction_of(ncclRedOp_t op) {
  const auto index = static_cast<std::size_t>(op);
  if (index >= kReductionsOfNccl.size()) refuse_argument("reduction " + std::to_string(op) + " does not exist");
  return kReductionsOfNccl[index];
}

}  // namespace tutti::nccl_adapter
