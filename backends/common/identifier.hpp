#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tutti/rendezvous.hpp"

/// How the ranks of a new communicator of a vendor's library find each other: through tutti's rendezvous.
namespace tutti::common {

/// What the members of a communicator of the library underneath find each other by (a unique id, the address of a
/// store): `make` makes it on the first member, all get it. May be used again and again under one name. Collective;
/// when `make` throws, all members throw that Error.
[[nodiscard]] std::string share_identifier(const Rendezvous& rendezvous, std::string_view name,
                                           const std::function<std::string()>& make);

/// For a step that waits for the others to call now and then: throws Error when the step of one of them has failed. A
/// round trip to the store.
using CheckOthers = std::function<void()>;

/// Runs `step` on every member; throws on all members when it threw on any, naming those ranks and the first one's
/// words and code. For what a member does before the library underneath waits for all, or while it does: a member that
/// failed would leave the others waiting. Collective, but one whose error is that a peer died or is late does not wait
/// for anybody.
void run_together(const Rendezvous& rendezvous, std::string_view name,
                  const std::function<void(const CheckOthers& check_others)>& step);
/// For a step that waits for nobody.
inline void run_together(const Rendezvous& rendezvous, std::string_view name, const std::function<void()>& step) {
  run_together(rendezvous, name, [&](const CheckOthers&) { step(); });
}

}  // namespace tutti::common
