#pragma once

#include <stdint.h>

/* Functions by which a test plays the calls of a SYCL runtime. */

#ifdef __cplusplus
extern "C" {
#endif

/* Offers the stream of calls to a subscriber by its xptiTraceInit; 0 if it does not subscribe. */
int fake_ur_offer_stream(void* begin);

/* A call with the addresses of its arguments and of its result. `instance` is a number of its own. */
void fake_ur_call(uint64_t instance, uint32_t function, const char* name, void** arguments, void* result);

#ifdef __cplusplus
}
#endif
