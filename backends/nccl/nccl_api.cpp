#include "nccl_api.hpp"

namespace tutti::nccl {

Api::Api(const common::SymbolLookup& lookup) {
  const common::VendorSymbols library("nccl", "NCCL", lookup);
  library.find(error_string, "ncclGetErrorString");
  library.find(last_error, "ncclGetLastError");
  library.find(get_version, "ncclGetVersion");
  library.find(get_unique_id, "ncclGetUniqueId");
  library.find(comm_init_rank_config, "ncclCommInitRankConfig");
  library.find(comm_finalize, "ncclCommFinalize");
  library.find(comm_destroy, "ncclCommDestroy");
  library.find(comm_abort, "ncclCommAbort");
  library.find(comm_get_async_error, "ncclCommGetAsyncError");
  library.find(red_op_create_pre_mul_sum, "ncclRedOpCreatePreMulSum");
  library.find(red_op_destroy, "ncclRedOpDestroy");
  library.find(group_start, "ncclGroupStart");
  library.find(group_end, "ncclGroupEnd");
  library.find(all_reduce, "ncclAllReduce");
  library.find(all_gather, "ncclAllGather");
  library.find(reduce_scatter, "ncclReduceScatter");
  library.find(broadcast, "ncclBroadcast");
  library.find(reduce, "ncclReduce");
  library.find(send, "ncclSend");
  library.find(recv, "ncclRecv");
}

}  // namespace tutti::nccl
