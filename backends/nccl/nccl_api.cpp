#include "nccl_api.hpp"

#include <string>
#include <string_view>

#include "tutti/error.hpp"

namespace tutti::nccl {
namespace {

constexpr std::string_view kLibrary = "NCCL";

void* require(const SymbolLookup& lookup, const char* name) {
  void* const symbol = lookup(name);
  if (symbol != nullptr) return symbol;
  throw Error(ErrorCode::backend_unavailable, "the library lacks " + std::string(name), "nccl");
}

template <typename Function>
void fill(spi::VendorFunction<Function>& member, const char* name, const SymbolLookup& lookup) {
  member = spi::VendorFunction<Function>(kLibrary, name);
  member.set(reinterpret_cast<Function>(require(lookup, name)));
}

}  // namespace

Api::Api(const SymbolLookup& lookup)
    : error_string(reinterpret_cast<decltype(error_string)>(require(lookup, "ncclGetErrorString"))),
      last_error(reinterpret_cast<decltype(last_error)>(require(lookup, "ncclGetLastError"))) {
  fill(get_version, "ncclGetVersion", lookup);
  fill(get_unique_id, "ncclGetUniqueId", lookup);
  fill(comm_init_rank_config, "ncclCommInitRankConfig", lookup);
  fill(comm_finalize, "ncclCommFinalize", lookup);
  fill(comm_destroy, "ncclCommDestroy", lookup);
  fill(comm_abort, "ncclCommAbort", lookup);
  fill(comm_get_async_error, "ncclCommGetAsyncError", lookup);
  fill(red_op_create_pre_mul_sum, "ncclRedOpCreatePreMulSum", lookup);
  fill(red_op_destroy, "ncclRedOpDestroy", lookup);
  fill(group_start, "ncclGroupStart", lookup);
  fill(group_end, "ncclGroupEnd", lookup);
  fill(all_reduce, "ncclAllReduce", lookup);
  fill(all_gather, "ncclAllGather", lookup);
  fill(reduce_scatter, "ncclReduceScatter", lookup);
  fill(broadcast, "ncclBroadcast", lookup);
  fill(reduce, "ncclReduce", lookup);
  fill(send, "ncclSend", lookup);
  fill(recv, "ncclRecv", lookup);
}

}  // namespace tutti::nccl
