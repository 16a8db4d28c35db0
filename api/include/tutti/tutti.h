#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

/** @file
 * The C interface: the same core as tutti/communicator.hpp, with codes in place of exceptions. Semantics, blocking and
 * thread rules are those of the C++ methods with the same names. Every function that can fail returns a tutti_status;
 * tutti_last_error() then returns the message for the calling thread.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_C_API __attribute__((visibility("default")))

/** Numbers of tutti::ErrorCode. */
typedef enum tutti_status {
  TUTTI_OK = 0,
  TUTTI_INVALID_ARGUMENT = 1,
  TUTTI_INVALID_USAGE = 2,
  TUTTI_UNSUPPORTED = 3,
  TUTTI_BACKEND_UNAVAILABLE = 4,
  TUTTI_BACKEND_FAILURE = 5,
  TUTTI_PEER_FAILURE = 6,
  TUTTI_TIMEOUT = 7,
  TUTTI_ABORTED = 8,
  TUTTI_SYSTEM = 9,
  TUTTI_CONFIG = 10
} tutti_status;

/** Numbers of tutti::DataType. */
typedef enum tutti_data_type {
  TUTTI_INT8, TUTTI_INT16, TUTTI_INT32, TUTTI_INT64,
  TUTTI_UINT8, TUTTI_UINT16, TUTTI_UINT32, TUTTI_UINT64,
  TUTTI_FLOAT16, TUTTI_BFLOAT16, TUTTI_FLOAT32, TUTTI_FLOAT64,
  TUTTI_FLOAT8_E4M3, TUTTI_FLOAT8_E5M2
} tutti_data_type;

/** Numbers of tutti::Reduction. */
typedef enum tutti_reduction {
  TUTTI_SUM, TUTTI_PRODUCT, TUTTI_MIN, TUTTI_MAX, TUTTI_AVERAGE,
  TUTTI_BIT_AND, TUTTI_BIT_OR, TUTTI_BIT_XOR,
  TUTTI_LOGICAL_AND, TUTTI_LOGICAL_OR, TUTTI_LOGICAL_XOR
} tutti_reduction;

/** A group of ranks; freed with tutti_comm_free(). */
typedef struct tutti_comm* tutti_comm_t;
/** An asynchronous operation; freed with tutti_work_free(), which waits for it. */
typedef struct tutti_work* tutti_work_t;

/** Options of a call. Initialise with TUTTI_OPTIONS_INIT; a null pointer means the same. */
typedef struct tutti_options {
  double prescale;       /**< factor for every contribution of a reduction; default 1 */
  uint64_t timeout_ns;   /**< fail with TUTTI_TIMEOUT after this time; 0: the communicator's timeout */
  tutti_work_t* work;    /**< not null: return immediately and store the pending operation here */
  const char* label;     /**< the caller's name for the operation, or null; valid until the operation has completed */
} tutti_options;

#define TUTTI_OPTIONS_INIT {1.0, 0, NULL, NULL}

/** Message of the last failure in this thread; "" if there was none. Valid until the next failure in this thread. */
TUTTI_C_API const char* tutti_last_error(void);
/** Name of a status: "timeout", "peer_failure", ... */
TUTTI_C_API const char* tutti_status_name(tutti_status status);
/** Version of the library: "MAJOR.MINOR.PATCH". */
TUTTI_C_API const char* tutti_version(void);

/** Creates a communicator of all ranks of the job; `backend` may be null (TUTTI_BACKEND or auto). Collective. */
TUTTI_C_API tutti_status tutti_world(const char* backend, tutti_comm_t* comm);
/** Stores `size` communicators in `comms`, one for each thread that acts as a rank. */
TUTTI_C_API tutti_status tutti_local_group(int size, const char* backend, tutti_comm_t* comms);
/** Null is allowed. */
TUTTI_C_API void tutti_comm_free(tutti_comm_t comm);
/** -1 for null. */
TUTTI_C_API int tutti_comm_rank(tutti_comm_t comm);
/** 0 for null. */
TUTTI_C_API int tutti_comm_size(tutti_comm_t comm);
/** Name of the backend; valid as long as the communicator. */
TUTTI_C_API const char* tutti_comm_backend(tutti_comm_t comm);
/** `*child` is null for a negative colour. */
TUTTI_C_API tutti_status tutti_comm_split(tutti_comm_t comm, int color, int key, tutti_comm_t* child);
TUTTI_C_API tutti_status tutti_comm_duplicate(tutti_comm_t comm, tutti_comm_t* child);
TUTTI_C_API void tutti_comm_abort(tutti_comm_t comm);

/** Allocates zeroed memory that ranks of this host can share, see tutti::allocate(). Release it with tutti_free(). */
TUTTI_C_API tutti_status tutti_allocate(size_t bytes, void** data);
/** Null is allowed. */
TUTTI_C_API void tutti_free(void* data);
/** Makes whole pages of the program's own memory shareable until tutti_unshare(), see tutti::share(). */
TUTTI_C_API tutti_status tutti_share(void* data, size_t bytes);
/** Null is allowed. */
TUTTI_C_API void tutti_unshare(void* data);

/* Operations. `count` is the number of elements of one block; buffers of one block per rank have size() times as many. */
TUTTI_C_API tutti_status tutti_allreduce(const void* in, void* out, uint64_t count, tutti_data_type type,
                                         tutti_reduction op, tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_allgather(const void* in, void* out, uint64_t count, tutti_data_type type,
                                         tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_reduce_scatter(const void* in, void* out, uint64_t count, tutti_data_type type,
                                              tutti_reduction op, tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_broadcast(const void* in, void* out, uint64_t count, tutti_data_type type, int root,
                                         tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_reduce(const void* in, void* out, uint64_t count, tutti_data_type type, tutti_reduction op,
                                      int root, tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_gather(const void* in, void* out, uint64_t count, tutti_data_type type, int root,
                                      tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_scatter(const void* in, void* out, uint64_t count, tutti_data_type type, int root,
                                       tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_alltoall(const void* in, void* out, uint64_t count, tutti_data_type type,
                                        tutti_comm_t comm, const tutti_options* options);
TUTTI_C_API tutti_status tutti_send(const void* in, uint64_t count, tutti_data_type type, int peer, tutti_comm_t comm,
                                    const tutti_options* options);
TUTTI_C_API tutti_status tutti_recv(void* out, uint64_t count, tutti_data_type type, int peer, tutti_comm_t comm,
                                    const tutti_options* options);
TUTTI_C_API tutti_status tutti_barrier(tutti_comm_t comm, const tutti_options* options);

/* Vector operations: one count and one displacement per rank, in elements; displacements may be null (packed). */
TUTTI_C_API tutti_status tutti_allgatherv(const void* in, uint64_t count, void* out, const uint64_t* counts,
                                          const uint64_t* displacements, tutti_data_type type, tutti_comm_t comm,
                                          const tutti_options* options);
/** The blocks of `in` are packed. */
TUTTI_C_API tutti_status tutti_reduce_scatterv(const void* in, const uint64_t* counts, void* out, uint64_t count,
                                               tutti_data_type type, tutti_reduction op, tutti_comm_t comm,
                                               const tutti_options* options);
TUTTI_C_API tutti_status tutti_gatherv(const void* in, uint64_t count, void* out, const uint64_t* counts,
                                       const uint64_t* displacements, tutti_data_type type, int root, tutti_comm_t comm,
                                       const tutti_options* options);
TUTTI_C_API tutti_status tutti_scatterv(const void* in, const uint64_t* counts, const uint64_t* displacements, void* out,
                                        uint64_t count, tutti_data_type type, int root, tutti_comm_t comm,
                                        const tutti_options* options);
TUTTI_C_API tutti_status tutti_alltoallv(const void* in, const uint64_t* in_counts, const uint64_t* in_displacements,
                                         void* out, const uint64_t* out_counts, const uint64_t* out_displacements,
                                         tutti_data_type type, tutti_comm_t comm, const tutti_options* options);

/** Runs `body(argument)`, then carries out together the operations that it called on `comm`. If `body` returns a status
 * other than TUTTI_OK, discards the operations and returns that status. */
TUTTI_C_API tutti_status tutti_group(tutti_comm_t comm, tutti_status (*body)(void* argument), void* argument);

/** Opens a group: the operations that this thread calls until tutti_group_end(), on any communicators, are collected.
 * Groups nest. */
TUTTI_C_API tutti_status tutti_group_begin(void);
/** Starts the collected operations as if at the same time, unless the group is within another one, which then does.
 * `work` null: returns when they are complete; else stores them there. */
TUTTI_C_API tutti_status tutti_group_end(tutti_work_t* work);
/** Closes the group without its operations. */
TUTTI_C_API void tutti_group_discard(void);

TUTTI_C_API tutti_status tutti_work_wait(tutti_work_t work);
/** TUTTI_TIMEOUT if the time runs out; the operation continues. */
TUTTI_C_API tutti_status tutti_work_wait_for(tutti_work_t work, uint64_t nanoseconds);
/** Makes progress; 1 if the operation has completed, successfully or not, else 0. */
TUTTI_C_API int tutti_work_ready(tutti_work_t work);
/** Waits for the operation first. Null is allowed. */
TUTTI_C_API void tutti_work_free(tutti_work_t work);

#ifdef __cplusplus
}
#endif

#endif
