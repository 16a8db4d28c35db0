#include "report.hpp"

#include <string>

#include "../common/operation_report.hpp"

namespace tutti::torch_adapter {
namespace {

/// torch's function for an operation of tutti.
std::string function_of(OpKind kind) {
  switch (kind) {
    case OpKind::allreduce:
      return "all_reduce";
    case OpKind::allgather:
    case OpKind::allgatherv:
      return "all_gather";
    case OpKind::alltoall:
    case OpKind::alltoallv:
      return "all_to_all";
    case OpKind::reduce_scatterv:
      return "reduce_scatter";
    case OpKind::gatherv:
      return "gather";
    case OpKind::scatterv:
      return "scatter";
    default:
      return std::string(traits(kind).name);
  }
}

}  // namespace

void begin_report() { adapters::OperationReport::begin("Gloo", &function_of); }

}  // namespace tutti::torch_adapter
