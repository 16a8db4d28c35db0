#pragma once

#include <stddef.h>

/* What tests ask the fake driver itself, past the loader: dlopen() the driver's file and look these up. */

#ifdef __cplusplus
extern "C" {
#endif

/* Copies what was done wrong so far into `text`, a line each, ended by a zero, and forgets it; returns how many lines
   there were. What is not taken is written to stderr when the process exits, which then exits with 86. */
__attribute__((visibility("default"))) size_t fake_level_zero_take_violations(char* text, size_t size);

/* Lets zeEventQueryStatus fail as on a device that is lost, after the next `after` calls; below 0: no longer. */
__attribute__((visibility("default"))) void fake_level_zero_fail_queries(int after);

/* Exit code of a process that did something wrong. */
enum { kFakeLevelZeroExitCode = 86 };

#ifdef __cplusplus
}
#endif
