#pragma once

#include <stddef.h>

/* Functions for the tests, which call them without the loader: dlopen() the driver's file and look them up. */

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the violations so far into `text`, a line each, ended by a zero, and forgets them; returns their number. A
   process with violations that were not taken writes them to stderr at exit and exits with code 86. */
__attribute__((visibility("default"))) size_t fake_level_zero_take_violations(char* text, size_t size);

/* Makes zeEventQueryStatus fail with ZE_RESULT_ERROR_DEVICE_LOST after the next `after` calls; below 0: never. */
__attribute__((visibility("default"))) void fake_level_zero_fail_queries(int after);

/* Exit code of a process with violations. */
enum { kFakeLevelZeroExitCode = 86 };

#ifdef __cplusplus
}
#endif
