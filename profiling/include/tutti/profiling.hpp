#pragma once

#include <string_view>

#include "tutti/profiling.h"

/// Control of the profiling session from within a program. Link with tutti::profiling.
///
/// Under `tutti prof` a process records from its beginning, so that a program need not call anything. It may name its
/// regions, and leave out its warm-up: `tutti prof --paused`, start() and stop(). Without `tutti prof`, start() begins
/// a session of this process, which `tutti tally` reads. All functions may be called from any thread, never throw and
/// keep `errno`.
namespace tutti::profiling {

/// Records from now on. If the environment names no session, one begins in a new folder in TMPDIR. Returns false if
/// there can be no session; the reason is last_problem().
TUTTI_PROFILING_API bool start() noexcept;

/// Records nothing until start().
TUTTI_PROFILING_API void stop() noexcept;

/// Writes what is recorded to the disk and waits for it. Needed only against a crash of the machine: what a process has
/// recorded stays, however the process ends.
TUTTI_PROFILING_API void flush() noexcept;

/// Begins a region of the calling thread, "step"; the name is copied. Regions nest; records belong to the innermost.
TUTTI_PROFILING_API void begin_region(std::string_view name) noexcept;

/// Ends the innermost region of the calling thread.
TUTTI_PROFILING_API void end_region() noexcept;

/// A region of the calling thread that lasts as long as the object.
class Region {
 public:
  explicit Region(std::string_view name) noexcept { begin_region(name); }
  ~Region() { end_region(); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

/// Folder of this process's session, or an empty text. Valid as long as the process.
[[nodiscard]] TUTTI_PROFILING_API const char* session_folder() noexcept;

/// Why nothing or not everything is recorded, or an empty text. Valid as long as the process.
[[nodiscard]] TUTTI_PROFILING_API const char* last_problem() noexcept;

}  // namespace tutti::profiling
