#pragma once

#include <string>
#include <string_view>

#include "tutti/error.hpp"

namespace tutti::detail {

struct CommunicatorState;

/// Failures of this process's communicators, so that a rank can say why it leaves the others of the same job: their
/// ranks would blame it, although it leaves because of another rank. Thread-safe.
namespace failed_before {

/// Keeps the error of an operation of the communicator, if it is the first in this rank's job.
void note(const CommunicatorState& state, const Error& error) noexcept;
/// Shows the other ranks the first failure in this rank's job, if there was one, unless this communicator shows one of
/// its own; called when it is destroyed.
void show(CommunicatorState& state) noexcept;
/// The error, with the reason for which a rank has left if it showed one.
[[nodiscard]] Error with_reason(const CommunicatorState& state, const Error& error);

}  // namespace failed_before
}  // namespace tutti::detail
