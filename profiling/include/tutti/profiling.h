#ifndef TUTTI_PROFILING_H
#define TUTTI_PROFILING_H

/** @file
 * Control of the profiling session from within a C program; see tutti/profiling.hpp, whose functions these are. Link
 * with libtutti_profiling. All functions may be called from any thread, never fail hard and keep `errno`.
 */

#ifdef __cplusplus
extern "C" {
#endif

/** Marks the symbols of libtutti_profiling that programs and sources link to; all others are hidden. */
#define TUTTI_PROFILING_API __attribute__((visibility("default")))

/** Records from now on, in a new session if there is none. Returns 1, or 0 if there can be no session; the reason is
 * tutti_profiling_last_problem(). */
TUTTI_PROFILING_API int tutti_profiling_start(void);
/** Records nothing until tutti_profiling_start(). */
TUTTI_PROFILING_API void tutti_profiling_stop(void);
/** Writes what is recorded to the disk; waits for it. */
TUTTI_PROFILING_API void tutti_profiling_flush(void);

/** Begins a region of the calling thread; `name` is copied, a null pointer is an empty name. */
TUTTI_PROFILING_API void tutti_profiling_begin_region(const char* name);
/** Ends the innermost region of the calling thread. */
TUTTI_PROFILING_API void tutti_profiling_end_region(void);

/** Folder of the session, or an empty text. Valid as long as the process. */
TUTTI_PROFILING_API const char* tutti_profiling_session_folder(void);
/** Why nothing or not everything is recorded, or an empty text. Valid as long as the process. */
TUTTI_PROFILING_API const char* tutti_profiling_last_problem(void);

#ifdef __cplusplus
}
#endif

#endif
