#pragma once

#include <nccl.h>

#include <optional>

/// Environment variables that cause faults, most of them on the rank that they name:
///   FAKE_NCCL_VERSION=20800          the library reports this version
///   FAKE_NCCL_ASYNC_ERROR=RANK:N     the Nth launch never ends, and the communicator has ncclRemoteError from then on
///   FAKE_NCCL_CALL_ERROR=RANK:N      the Nth operation is refused with ncclSystemError; its group continues
///   FAKE_NCCL_DIE=RANK:N             the process is killed when its Nth launch begins
///   FAKE_NCCL_HANG_INIT=RANK         the rank never joins
///   FAKE_NCCL_INIT_ERROR=RANK        the rank fails to join with ncclSystemError
namespace tutti::test::fake_nccl {

[[nodiscard]] int version();
[[nodiscard]] bool hangs_in_init(int rank);
[[nodiscard]] bool fails_in_init(int rank);
/// Launches and calls are counted from 1.
[[nodiscard]] bool fails_at(int rank, int launch);
[[nodiscard]] bool refuses_call(int rank, int call);
[[nodiscard]] bool dies_at(int rank, int launch);

}  // namespace tutti::test::fake_nccl
