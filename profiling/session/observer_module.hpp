#pragma once

namespace tutti::profiling {

/// File of the observer module that records tutti's own operations, beside this library.
inline constexpr const char* kObserverFile = "tutti/libtutti_observer_profile.so";

/// Symbol of that file: `extern "C" void tutti_observer_profile_attach()`, noexcept in effect. Adds the observer unless
/// it was added before, whether by this function or by TUTTI_OBSERVERS.
inline constexpr const char* kObserverAttach = "tutti_observer_profile_attach";

/// For a session that the program began itself: has tutti's operations recorded, if libtutti is in this process.
void attach_observer() noexcept;

}  // namespace tutti::profiling
