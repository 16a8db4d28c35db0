#include "channel/ccl_c_api.hpp"

namespace tutti::ccl {

CApi::CApi(const common::SymbolLookup& lookup) {
  const common::VendorSymbols library("ccl", "oneCCL", lookup);
  library.find(error_string, "onecclGetErrorString");
  library.find(last_error, "onecclGetLastError");
  library.find(get_unique_id, "onecclGetUniqueId");
  library.find(comm_init_rank, "onecclCommInitRank");
  library.find(comm_destroy, "onecclCommDestroy");
  library.find(all_reduce, "onecclAllReduce");
  library.find(all_gather, "onecclAllGather");
  library.find(reduce_scatter, "onecclReduceScatter");
  library.find(broadcast, "onecclBroadcast");
  library.find(reduce, "onecclReduce");
  library.find(all_to_all, "onecclAllToAll");
}

}  // namespace tutti::ccl
