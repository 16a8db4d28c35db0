#ifndef TUTTI_HOROVOD_H
#define TUTTI_HOROVOD_H

/** @file
 * The C interface of tutti/horovod.hpp: named tensors, which the ranks submit in any order. Functions that can fail
 * return a tutti_status; tutti_last_error() then returns the message for the calling thread.
 */

#include "tutti/tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Operations on named tensors, with Horovod's numbers. */
typedef enum tutti_horovod_operation {
  TUTTI_HOROVOD_ALLREDUCE = 0,
  TUTTI_HOROVOD_ALLGATHER = 1,
  TUTTI_HOROVOD_BROADCAST = 2,
  TUTTI_HOROVOD_ALLTOALL = 5,
  TUTTI_HOROVOD_REDUCESCATTER = 7
} tutti_horovod_operation;

/** Horovod's numbers of its reductions. */
typedef enum tutti_horovod_reduce_op {
  TUTTI_HOROVOD_AVERAGE,
  TUTTI_HOROVOD_SUM,
  TUTTI_HOROVOD_ADASUM,
  TUTTI_HOROVOD_MIN,
  TUTTI_HOROVOD_MAX,
  TUTTI_HOROVOD_PRODUCT
} tutti_horovod_reduce_op;

/** A tensor. Initialise with TUTTI_HOROVOD_TENSOR_INIT. */
typedef struct tutti_horovod_tensor {
  tutti_horovod_operation operation;
  const char* name; /**< the same on all ranks */
  const void* in;
  uint64_t in_count; /**< elements */
  void* out;         /**< null: the engine allocates the output of an allgather, alltoall or reducescatter */
  uint64_t out_count;
  tutti_data_type type;
  tutti_horovod_reduce_op op;
  int root; /**< of a broadcast */
  double prescale;
  double postscale;
  int process_set;
  const int64_t* shape; /**< of `in`; null: one dimension */
  int dimensions;
  const int64_t* splits; /**< of an alltoall: rows for each rank; null: equal parts */
  int compression;       /**< of an allreduce: 0 none, 1 float16, 2 bfloat16 */
  int priority;          /**< a higher one goes first, the same on all ranks */
  /** Of buffers in device memory, else null: the name of the device module, and the handle of the stream whose work so
   * far makes the input, as docs/horovod.md lists it for each module. The tensor is complete when the result is in its
   * place. */
  const char* stream_module;
  void* stream;
} tutti_horovod_tensor;

#define TUTTI_HOROVOD_TENSOR_INIT \
  { TUTTI_HOROVOD_ALLREDUCE, 0, 0, 0, 0, 0, TUTTI_FLOAT32, TUTTI_HOROVOD_AVERAGE, 0, 1.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** A tensor that was submitted; freed with tutti_horovod_free(), which does not wait. */
typedef struct tutti_horovod_handle* tutti_horovod_handle_t;

/** Creates the engine of this process over all ranks of the job. Collective. */
TUTTI_C_API tutti_status tutti_horovod_init(void);
/** Ends it; tensors in flight end with an error, on all ranks. */
TUTTI_C_API tutti_status tutti_horovod_shutdown(void);
TUTTI_C_API int tutti_horovod_is_initialized(void);

/** -1 before tutti_horovod_init(), as Horovod. */
TUTTI_C_API int tutti_horovod_rank(void);
TUTTI_C_API int tutti_horovod_size(void);
TUTTI_C_API int tutti_horovod_local_rank(void);
TUTTI_C_API int tutti_horovod_local_size(void);
TUTTI_C_API int tutti_horovod_cross_rank(void);
TUTTI_C_API int tutti_horovod_cross_size(void);

/** Submits a tensor and returns at once. */
TUTTI_C_API tutti_status tutti_horovod_enqueue(const tutti_horovod_tensor* tensor, tutti_horovod_handle_t* handle);
/** Submits tensors of one operation, which is that of the first one, as a group: they are processed together. Their
 * reduction, factors, compression, stream and process set are those of the first one. `handles` has room for `count`.
 */
TUTTI_C_API tutti_status tutti_horovod_enqueue_group(const tutti_horovod_tensor* tensors, int count,
                                                     tutti_horovod_handle_t* handles);
/** 1 if the tensor is complete, with an error or without; 0 if not. */
TUTTI_C_API int tutti_horovod_poll(tutti_horovod_handle_t handle);
/** Blocks until the tensor is complete and returns its status. */
TUTTI_C_API tutti_status tutti_horovod_wait(tutti_horovod_handle_t handle);
/** The output that the engine allocated for a complete tensor, valid until the handle is freed; memory of the device if
 * the input is. */
TUTTI_C_API tutti_status tutti_horovod_output(tutti_horovod_handle_t handle, const void** data, uint64_t* bytes);
TUTTI_C_API void tutti_horovod_free(tutti_horovod_handle_t handle);

/** Contributes zeros until all ranks of the set have joined; stores the rank that joined last. */
TUTTI_C_API tutti_status tutti_horovod_join(int process_set, int* last_joined);
TUTTI_C_API tutti_status tutti_horovod_barrier(int process_set);

/** Collective over all ranks; stores the number of the new process set. */
TUTTI_C_API tutti_status tutti_horovod_add_process_set(const int* ranks, int count, int* process_set);
TUTTI_C_API tutti_status tutti_horovod_remove_process_set(int process_set);

/** This rank's number in a process set, the number of its ranks, and whether this rank belongs to it (1) or not (0);
 * -1 before tutti_horovod_init(), if there is no such set, or if this rank has no number in it. */
TUTTI_C_API int tutti_horovod_process_set_rank(int process_set);
TUTTI_C_API int tutti_horovod_process_set_size(int process_set);
TUTTI_C_API int tutti_horovod_process_set_included(int process_set);

TUTTI_C_API tutti_status tutti_horovod_start_timeline(const char* path, int marks_cycles);
TUTTI_C_API tutti_status tutti_horovod_stop_timeline(void);

/** State of autotune. */
typedef struct tutti_horovod_autotune {
  int is_active;
  uint64_t fusion_threshold; /**< bytes */
  double cycle_ms;
  int cache;
  double best_score; /**< bytes per microsecond */
} tutti_horovod_autotune;
TUTTI_C_API tutti_status tutti_horovod_autotune_state(tutti_horovod_autotune* state);

#ifdef __cplusplus
}
#endif

#endif
