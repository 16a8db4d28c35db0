#pragma once

#include <nccl.h>

#include <optional>

#include "nccl_api.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/capabilities.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

/// Translation of types, reductions and errors between tutti and NCCL.
namespace tutti::nccl {

/// NCCL's type for reductions; nothing for 16-bit integers, which NCCL lacks and which are moved as bytes. See
/// kFirstWithFloat8.
[[nodiscard]] constexpr std::optional<ncclDataType_t> datatype(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
      return ncclInt8;
    case DataType::int32:
      return ncclInt32;
    case DataType::int64:
      return ncclInt64;
    case DataType::uint8:
      return ncclUint8;
    case DataType::uint32:
      return ncclUint32;
    case DataType::uint64:
      return ncclUint64;
    case DataType::float16:
      return ncclFloat16;
    case DataType::bfloat16:
      return ncclBfloat16;
    case DataType::float32:
      return ncclFloat32;
    case DataType::float64:
      return ncclFloat64;
    case DataType::float8_e4m3:
      return ncclFloat8e4m3;
    case DataType::float8_e5m2:
      return ncclFloat8e5m2;
    default:
      return std::nullopt;
  }
}

[[nodiscard]] constexpr std::optional<ncclRedOp_t> reduction(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::product:
      return ncclProd;
    case Reduction::min:
      return ncclMin;
    case Reduction::max:
      return ncclMax;
    case Reduction::average:
      return ncclAvg;
    default:
      return std::nullopt;
  }
}

/// The first version that reduces 8-bit floats, as ncclGetVersion gives it.
inline constexpr int kFirstWithFloat8 = 22400;

/// Operations, types, reductions and kinds of memory that a version of NCCL supports.
[[nodiscard]] spi::Capabilities capabilities(int version);

[[nodiscard]] constexpr ErrorCode code_of(ncclResult_t result) noexcept {
  return result == ncclRemoteError ? ErrorCode::peer_failure : ErrorCode::backend_failure;
}

/// Error with NCCL's text for a result; `comm` may be null.
[[nodiscard]] Error to_error(const Api& api, ncclResult_t result, ncclComm_t comm);

/// Whether a call failed: it neither succeeded nor continues in the background.
[[nodiscard]] constexpr bool is_failure(ncclResult_t result) noexcept {
  return result != ncclSuccess && result != ncclInProgress;
}

/// Throws to_error() if the call failed.
inline void check(const Api& api, ncclResult_t result, ncclComm_t comm) {
  if (is_failure(result)) [[unlikely]]
    throw to_error(api, result, comm);
}

}  // namespace tutti::nccl
