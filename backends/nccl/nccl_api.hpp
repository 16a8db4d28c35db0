#pragma once

#include <nccl.h>

#include "common/vendor_symbols.hpp"
#include "tutti/spi/instrument.hpp"

/// Every call into NCCL goes through this table, so that the observer sees it and a test can substitute its own
/// functions.
namespace tutti::nccl {

struct Api {
  /// Throws Error{backend_unavailable} naming the first function that is missing.
  explicit Api(const common::SymbolLookup& lookup);

  // Not reported to the observer: these functions only return error texts.
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;

  spi::VendorFunction<decltype(&ncclGetVersion)> get_version;
  spi::VendorFunction<decltype(&ncclGetUniqueId)> get_unique_id;
  spi::VendorFunction<decltype(&ncclCommInitRankConfig)> comm_init_rank_config;
  spi::VendorFunction<decltype(&ncclCommFinalize)> comm_finalize;
  spi::VendorFunction<decltype(&ncclCommDestroy)> comm_destroy;
  spi::VendorFunction<decltype(&ncclCommAbort)> comm_abort;
  spi::VendorFunction<decltype(&ncclCommGetAsyncError)> comm_get_async_error;
  spi::VendorFunction<decltype(&ncclRedOpCreatePreMulSum)> red_op_create_pre_mul_sum;
  spi::VendorFunction<decltype(&ncclRedOpDestroy)> red_op_destroy;
  spi::VendorFunction<decltype(&ncclGroupStart)> group_start;
  spi::VendorFunction<decltype(&ncclGroupEnd)> group_end;
  spi::VendorFunction<decltype(&ncclAllReduce)> all_reduce;
  spi::VendorFunction<decltype(&ncclAllGather)> all_gather;
  spi::VendorFunction<decltype(&ncclReduceScatter)> reduce_scatter;
  spi::VendorFunction<decltype(&ncclBroadcast)> broadcast;
  spi::VendorFunction<decltype(&ncclReduce)> reduce;
  spi::VendorFunction<decltype(&ncclSend)> send;
  spi::VendorFunction<decltype(&ncclRecv)> recv;
};

}  // namespace tutti::nccl
