#pragma once

#include "call/communicator_state.hpp"

namespace tutti {

/// Compares what the ranks are about to do, on any backend, before they do it: an exchange of a few bytes. Throws
/// Error{invalid_usage} on every rank that says who calls what. For TUTTI_CHECK; send and recv are not compared.
/// `backend` is agreement_leaf(), or a view of it.
void check_agreement(const detail::CommunicatorState& state, spi::BackendCommunicator& backend,
                     const Operation& operation);

/// The leaf that carries out the exchange. It does not depend on the operation, about which the ranks may disagree.
[[nodiscard]] spi::BackendCommunicator& agreement_leaf(const detail::CommunicatorState& state);

}  // namespace tutti
