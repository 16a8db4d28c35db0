#pragma once

namespace tutti::profiling::ze {

/// Begins to record the calls of the loader that contains `init`, its zeInit or zeInitDrivers, after that has
/// succeeded. Without effect at later calls, without a tracing layer, and if the session does not want the source.
void start_tracer(const void* init) noexcept;

}  // namespace tutti::profiling::ze
