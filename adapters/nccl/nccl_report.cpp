#include "nccl_report.hpp"

#include <string>

#include "../common/operation_report.hpp"

namespace tutti::nccl_adapter {
namespace {

/// NCCL's function for an operation of tutti.
std::string function_of(OpKind kind) {
  switch (kind) {
    case OpKind::allreduce:
      return "ncclAllReduce";
    case OpKind::allgather:
      return "ncclAllGather";
    case OpKind::reduce_scatter:
      return "ncclReduceScatter";
    case OpKind::broadcast:
      return "ncclBroadcast";
    case OpKind::reduce:
      return "ncclReduce";
    case OpKind::gather:
      return "ncclGather";
    case OpKind::scatter:
      return "ncclScatter";
    case OpKind::alltoall:
      return "ncclAlltoAll";
    case OpKind::send:
      return "ncclSend";
    case OpKind::recv:
      return "ncclRecv";
    default:
      return std::string(traits(kind).name);  // not an operation of NCCL's interface
  }
}

}  // namespace

void begin_report() { adapters::OperationReport::begin("NCCL", &function_of); }

}  // namespace tutti::nccl_adapter
