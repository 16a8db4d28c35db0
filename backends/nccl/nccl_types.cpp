#include "nccl_types.hpp"

#include <string>

namespace tutti::nccl {

spi::Capabilities capabilities(int version) {
  spi::Capabilities result;
  for (const OpTraits& row : kOpTraits) result.add(row.kind);
  for (const OpKind kind : {OpKind::allgatherv, OpKind::reduce_scatterv, OpKind::gather, OpKind::gatherv,
                            OpKind::scatter, OpKind::scatterv, OpKind::alltoall, OpKind::alltoallv, OpKind::barrier}) {
    result.add_built(kind);
  }
  for (const DataType type : kDataTypes) {
    result.add(type);
    if (is_float8(type) && version < kFirstWithFloat8) continue;
    for (const Reduction one : kReductions) {
      if (datatype(type) && reduction(one)) result.add(one, type);
    }
  }
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::shared, MemoryKind::host}) result.add("cuda", kind);
  return result.add_prescale(Reduction::sum).add_prescale(Reduction::average);
}

Error to_error(const Api& api, ncclResult_t result, ncclComm_t comm) {
  std::string text = api.error_string(result);
  const char* const details = api.last_error(comm);
  if (details != nullptr && *details != '\0') text += std::string(": ") + details;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return Error(code_of(result), text, "nccl", result);
}

}  // namespace tutti::nccl
