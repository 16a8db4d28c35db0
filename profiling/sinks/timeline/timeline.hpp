#pragma once

#include <functional>
#include <string_view>

#include "report/profile.hpp"

namespace tutti::profiling {

/// Receives the bytes of a file in order; throws if they cannot be written.
using ByteSink = std::function<void(std::string_view bytes)>;

/// The events as a Perfetto trace (protobuf): tracks per host, rank, thread, device and sub-device, counters of
/// allocated memory, flow arrows from calls to the device work that they started. Throws std::runtime_error if
/// perfetto_built() is false.
void write_perfetto(const Profile& profile, const ByteSink& sink);

/// Whether this build can write Perfetto traces: it had libprotozero-dev.
[[nodiscard]] bool perfetto_built() noexcept;

/// The events in the JSON format of Chrome's trace viewer.
void write_chrome_json(const Profile& profile, const ByteSink& sink);

/// Times of operations and calls as folded stacks ("rank 0;step;allreduce 1 MiB;MPI_Allreduce 1234"), for flame graphs:
/// microseconds of each by itself, so that they add up to the time of the threads. Operations that overlap are below
/// "async operations", where a moment counts for the operation that began first. Of a process without single calls the
/// tables are used, and below an operation the calls of the outermost library only, because calls of libraries below
/// are within these.
void write_folded(const Profile& profile, const ByteSink& sink);

}  // namespace tutti::profiling
