#pragma once

#include <array>
#include <cstddef>

#include "common/vendor_symbols.hpp"
#include "tutti/spi/instrument.hpp"

/// oneCCL's C interface, in libccl.so.2. Every call goes through this table, as calls of the C++ interface go through
/// that of ccl_api.hpp.
///
/// The declarations are tutti's own, because the oldest oneCCL that tutti is built with has no header oneapi/ccl.h;
/// where there is one, ccl_c_check.cpp compares them with it. Results are int, because the observer does not take an
/// enumeration for an error code.
namespace tutti::ccl {

/// onecclUniqueId, by which the members of a communicator find each other. Passed by value.
struct CUniqueId {
  std::array<char, 4096> data;
};
/// onecclComm_t.
using CHandle = struct onecclComm*;

struct CApi {
  /// Throws Error{backend_unavailable} naming the first function that is missing.
  explicit CApi(const common::SymbolLookup& lookup);

  // Not reported to the observer: these functions only return error texts.
  const char* (*error_string)(int result) = nullptr;
  const char* (*last_error)(CHandle) = nullptr;

  spi::VendorFunction<int (*)(CUniqueId*)> get_unique_id;
  spi::VendorFunction<int (*)(CHandle*, std::size_t ranks, CUniqueId, int rank)> comm_init_rank;
  spi::VendorFunction<int (*)(CHandle)> comm_destroy;

  // The last argument is a SYCL queue, null for host memory.
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
