#pragma once

namespace tutti::profiling {

/// For a session that the program began itself: has tutti's operations recorded, if libtutti is in this process. Under
/// `tutti prof` TUTTI_OBSERVERS does that.
void attach_observer() noexcept;

}  // namespace tutti::profiling
