#pragma once

#include "communicator_state.hpp"

namespace tutti {

/// Compares what the ranks are about to do, on any backend, before they do it: an exchange of a few bytes. Throws
/// Error{invalid_usage} on every rank that says who calls what. For TUTTI_CHECK; send and recv are not compared.
void check_agreement(detail::CommunicatorState& state, const Operation& operation);

}  // namespace tutti
