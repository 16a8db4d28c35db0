#pragma once

#include <span>
#include <vector>

#include "tutti/composition.hpp"
#include "tutti/spi/capabilities.hpp"

namespace tutti {

/// The operations that carry out `operation`, in their order: each needs the result of the one before. Between them
/// they use no memory but the operation's own buffers. `rank` and `size` are those of the group. The operation is one
/// that the composition composes().
[[nodiscard]] std::vector<Operation> composed_steps(Composition composition, const Operation& operation, int rank,
                                                    int size);

/// Whether a backend has all parts of the composition itself, with the type and reduction of the operation.
[[nodiscard]] bool takes_composed(const spi::Capabilities& capabilities, Composition composition,
                                  const Operation& operation) noexcept;

}  // namespace tutti
