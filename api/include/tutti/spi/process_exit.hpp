#pragma once

#include "tutti/export.hpp"

namespace tutti::spi {

/// For exit handlers of backends whose library ends collectively. Shows the ranks of communicators that this process
/// has not destroyed that it exits, so that they do not wait for it, and waits until those on this host have destroyed
/// these communicators or exit, too. False if one of them has failed or ended otherwise: it will not take part in the
/// end of the library.
[[nodiscard]] TUTTI_API bool ranks_follow_at_exit() noexcept;

/// Leaves the job, as the process does by itself when it exits; for a backend that must end the process in another way,
/// because its library's destructors do not return. Does nothing while communicators exist.
TUTTI_API void leave_job() noexcept;

}  // namespace tutti::spi
