#pragma once

#include "call/communicator_state.hpp"

namespace tutti {

/// Buffers as the caller gave them; a buffer that the operation does not have is empty.
struct Arguments {
  const ConstBuffer& in;
  const Buffer& out;
  const Blocks* in_blocks = nullptr;
  const Blocks* out_blocks = nullptr;
};

/// Fills the operation's buffers, count, type and layouts from the arguments, or throws Error{invalid_argument} that
/// names what is wrong. `operation` has kind, root, reduction and prescale already.
void validate(const detail::CommunicatorState& state, const Arguments& arguments, Operation& operation);

/// "allreduce on rank 1 of 4 (communicator world)": how messages begin.
[[nodiscard]] std::string context(const detail::CommunicatorState& state, const Operation& operation);

}  // namespace tutti
