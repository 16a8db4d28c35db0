#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tutti/rendezvous.hpp"

/// Creation of a vendor library's communicator: its ranks find each other through tutti's rendezvous.
namespace tutti::common {

/// Shares the identifier by which the members of a vendor library's communicator find each other (a unique id, the
/// address of a store): `make` makes it on the first member, all members get it. A name may be used again. Collective;
/// when `make` throws, all members throw that Error.
[[nodiscard]] std::string share_identifier(const Rendezvous& rendezvous, std::string_view name,
                                           const std::function<std::string()>& make);

/// To be called now and then by a step that waits for other members: throws Error when the step of another member has
/// failed. Costs a round trip to the store.
using CheckOthers = std::function<void()>;

/// Runs `step` on every member. If it throws on any member, all members throw an Error that names those ranks and has
/// the text and code of the first. For steps before or while the vendor library waits for all members: a member that
/// failed would leave the others waiting. Collective, but a member whose error is that a peer died or is late does not
/// wait for the others.
void run_together(const Rendezvous& rendezvous, std::string_view name,
                  const std::function<void(const CheckOthers& check_others)>& step);
/// The same for a step that does not wait for other members.
inline void run_together(const Rendezvous& rendezvous, std::string_view name, const std::function<void()>& step) {
  run_together(rendezvous, name, [&](const CheckOthers&) { step(); });
}

}  // namespace tutti::common
