#pragma once

#include <memory>

#include "call/communicator_state.hpp"

namespace tutti {

/// Makes the state of a new communicator: the ranks meet, agree on a backend and create their sides of it. Collective.
[[nodiscard]] std::shared_ptr<detail::CommunicatorState> create_communicator(
    const Rendezvous& rendezvous, const CommunicatorOptions& options, const spi::ForeignHandle* handle = nullptr);

/// See Communicator::split; null for a negative colour.
[[nodiscard]] std::shared_ptr<detail::CommunicatorState> split_communicator(detail::CommunicatorState& parent,
                                                                            int color, int key, std::string name);

}  // namespace tutti
