#pragma once

#include "tutti/error.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
}

/// Whether an operation on a device has to be staged: its memory or its stream is none that a backend with these
/// capabilities takes.
[[nodiscard]] bool needs_staging(const Operation& op, const spi::Capabilities& capabilities);

/// Whether a staged operation is copied to the host as well, unless the backend reaches its memory by itself. Memory
/// that the host can load from and store to is not copied.
[[nodiscard]] bool is_copied(const Operation& op, const spi::Capabilities& capabilities);

/// Error for an operation that would be copied while TUTTI_STRICT forbids copies through the host.
[[nodiscard]] Error staging_refusal(const detail::CommunicatorState& state, const spi::BackendCommunicator& leaf,
                                    const Operation& op);

}  // namespace tutti
