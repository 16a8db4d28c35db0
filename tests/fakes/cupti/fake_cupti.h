#pragma once

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

/* A stand-in for libcupti: programs play calls and activity records to its subscriber, in CUPTI's own structures. */

#ifdef __cplusplus
extern "C" {
#endif

/* Plays a call to the subscriber: its begin, then `inner` (may be null), then its end with the result. */
__attribute__((visibility("default"))) void fake_cupti_call(CUpti_CallbackDomain domain, CUpti_CallbackId number,
                                                            const char* function, uint32_t correlation, int result,
                                                            void (*inner)(void*), void* data);

/* Puts a record of an enabled kind into the subscriber's buffers; others are ignored. */
__attribute__((visibility("default"))) void fake_cupti_put(const void* record, size_t bytes);

/* The time of the clock that was registered. */
__attribute__((visibility("default"))) uint64_t fake_cupti_time(void);

#ifdef __cplusplus
}
#endif
