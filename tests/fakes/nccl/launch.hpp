#pragma once

#include <memory>
#include <vector>

#include "communicator.hpp"
#include "task.hpp"

namespace tutti::test::fake_nccl {

/// Enqueues tasks of one communicator as one kernel: they run together, ordered with all their streams.
[[nodiscard]] ncclResult_t launch(const std::shared_ptr<ncclComm>& comm, std::vector<Task> tasks);

}  // namespace tutti::test::fake_nccl
