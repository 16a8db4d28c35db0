#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>

namespace tutti::test::fake_nccl {

enum class Kind : std::int32_t { all_reduce, all_gather, reduce_scatter, broadcast, reduce, send, recv };

/// One call of an NCCL operation.
struct Task {
  Kind kind;
  const void* input;
  void* output;
  std::uint64_t count;  ///< argument of the call
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int root;  ///< root, or peer of a message
  cudaStream_t stream;
  double factor;  ///< factor of a pre-multiplied sum; 1 otherwise
};

[[nodiscard]] inline const char* name(Kind kind) noexcept {
  constexpr const char* names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv"};
  return names[static_cast<int>(kind)];
}

[[nodiscard]] inline std::size_t size_of(ncclDataType_t type) noexcept {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[type];
}

}  // namespace tutti::test::fake_nccl
