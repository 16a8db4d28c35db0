#pragma once

#include <nccl.h>

#include <optional>

/// What goes wrong on purpose, from the environment; each names the rank that it happens to:
///   FAKE_NCCL_VERSION=20800          the version that the library says it has
///   FAKE_NCCL_ASYNC_ERROR=RANK:N     the Nth launch never ends, and the communicator says ncclRemoteError from then on
///   FAKE_NCCL_CALL_ERROR=RANK:N      the Nth operation is refused with ncclSystemError; a group that it is in goes on
///   FAKE_NCCL_DIE=RANK:N             the process is killed when its Nth launch begins
///   FAKE_NCCL_HANG_INIT=RANK         it never joins
///   FAKE_NCCL_INIT_ERROR=RANK        it fails to join with ncclSystemError
namespace tutti::test::fake_nccl {

[[nodiscard]] int version();
[[nodiscard]] bool hangs_in_init(int rank);
[[nodiscard]] bool fails_in_init(int rank);
/// Counted from 1.
[[nodiscard]] bool fails_at(int rank, int launch);
[[nodiscard]] bool refuses_call(int rank, int call);
[[nodiscard]] bool dies_at(int rank, int launch);

}  // namespace tutti::test::fake_nccl
