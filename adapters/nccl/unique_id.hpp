#pragma once

#include <nccl.h>

#include "tutti/rendezvous.hpp"

namespace tutti::nccl_adapter {

/// An id whose holders can meet: the address and the secret of a store, which this process serves until it ends. The
/// store listens on a socket that only this host reaches, unless the launcher's variables speak of several hosts.
[[nodiscard]] ncclUniqueId make_unique_id();

/// The rendezvous of the ranks that hold the id. Throws Error{invalid_argument} for an id that make_unique_id() did not
/// make, e.g. one of NVIDIA's library.
[[nodiscard]] Rendezvous meet(const ncclUniqueId& id, int rank, int size);

}  // namespace tutti::nccl_adapter
