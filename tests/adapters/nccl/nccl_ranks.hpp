#pragma once

#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

namespace tutti::test {

/// Runs `body` in a thread for each rank of a communicator made with ncclCommInitRank(), and destroys it afterwards
/// unless the body has set the handle to null.
void run_nccl_ranks(int size, const std::function<void(ncclComm_t& comm, int rank)>& body);

/// "result: text of ncclGetLastError()", or "ok"; for EXPECT_EQ.
[[nodiscard]] std::string outcome(ncclResult_t result);

}  // namespace tutti::test

#define EXPECT_NCCL(call) EXPECT_EQ(::tutti::test::outcome(call), "ok")
