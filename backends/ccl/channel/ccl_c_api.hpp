#pragma once

#include <array>
#include <cstddef>

#include "common/vendor_symbols.hpp"
#include "tutti/spi/instrument.hpp"

/// oneCCL's C interface, which is in libccl.so.2: every call goes through this table, as those of the C++ interface go
/// through the one of ccl_api.hpp.
///
/// The declarations are tutti's own, since the header oneapi/ccl.h is younger than the oldest oneCCL that tutti is
/// built with; where it is there, ccl_c_check.cpp makes sure that they agree. Results are plain numbers here: the
/// observer takes an enumeration for an answer.
namespace tutti::ccl {

/// onecclUniqueId: what the members of a communicator find each other by. Passed by value.
struct CUniqueId {
  std::array<char, 4096> data;
};
/// onecclComm_t.
using CHandle = struct onecclComm*;

struct CApi {
  /// Throws Error{backend_unavailable} that names the first function that is missing.
  explicit CApi(const common::SymbolLookup& lookup);

  // Not worth reporting: they do nothing but give words.
  const char* (*error_string)(int result) = nullptr;
  const char* (*last_error)(CHandle) = nullptr;

  spi::VendorFunction<int (*)(CUniqueId*)> get_unique_id;
  spi::VendorFunction<int (*)(CHandle*, std::size_t ranks, CUniqueId, int rank)> comm_init_rank;
  spi::VendorFunction<int (*)(CHandle)> comm_destroy;

  // The last argument is a SYCL queue: null on host memory.
  spi::VendorFunction<int (*)(void* in, void* out, std::size_t, int type, int reduction, CHandle, void*)> all_reduce;
  spi::VendorFunction<int (*)(const void* in, void* out, std::size_t, int type, CHandle, void*)> all_gather;
  spi::VendorFunction<int (*)(const void* in, void* out, std::size_t, int type, int reduction, CHandle, void*)>
      reduce_scatter;
  spi::VendorFunction<int (*)(const void* in, void* out, std::size_t, int type, int root, CHandle, void*)> broadcast;
  spi::VendorFunction<int (*)(const void* in, void* out, std::size_t, int type, int reduction, int root, CHandle,
                              void*)>
      reduce;
  spi::VendorFunction<int (*)(const void* in, void* out, std::size_t, int type, CHandle, void*)> all_to_all;
};

}  // namespace tutti::ccl
