#pragma once

#include <functional>
#include <string_view>

#include "report/profile.hpp"

namespace tutti::profiling {

/// Receives the bytes of a file in order; throws if they cannot be written.
using ByteSink = std::function<void(std::string_view bytes)>;

/// The events as a Perfetto trace (protobuf): tracks per host, rank, thread, device and sub-device, counters of
/// allocated memory, flow arrows from calls to the device work that they started.
void write_perfetto(const Profile& profile, const ByteSink& sink);

/// The events in the JSON format of Chrome's trace viewer.
void write_chrome_json(const Profile& profile, const ByteSink& sink);

/// Times of operations and calls as folded stacks ("rank 0;step;allreduce 1 MiB;MPI_Allreduce 1234"), for flame graphs.
void write_folded(const Profile& profile, const ByteSink& sink);

}  // namespace tutti::profiling
