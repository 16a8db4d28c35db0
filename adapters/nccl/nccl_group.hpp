#pragma once

#include <nccl.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "nccl_comm.hpp"

namespace tutti::nccl_adapter {

/// Whether this thread has called ncclGroupStart().
[[nodiscard]] bool is_grouping() noexcept;

/// Carries out a call that creates a communicator: at once, or at the end of the group, where those of several ranks of
/// this thread meet. `create` must outlive neither its arguments nor the communicators that it uses.
void create_in_group(std::function<void()> create);

/// Remembers for the end of the group that an operation takes no stream, so that ncclGroupEnd() waits for it.
void note_operation(ncclComm& comm, bool has_stream);

/// Keeps the input of an operation until the group has ended.
void keep_for_group(std::vector<std::byte> input);

/// Remembers that a call failed, so that the group is discarded at its end.
void note_failure(ncclResult_t result) noexcept;

}  // namespace tutti::nccl_adapter
