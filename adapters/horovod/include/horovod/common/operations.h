#pragma once

#include "common.h"

#pragma GCC visibility push(default)

/// Horovod's functions, with upstream's names, signatures and return codes (version 0.28).
namespace horovod {
namespace common {

/// NOT_INITIALIZED_ERROR unless horovod_init() has succeeded.
Status CheckInitialized();

extern "C" {

/// Collective over all ranks of the job. `ranks`: those that form the group of this rank, in their new order; none: all
/// ranks. The process sets are lists of ranks one after the other. Returns false after an error, which is printed.
bool horovod_init(const int* ranks, int nranks, const int* process_set_ranks, const int* process_set_sizes,
                  int num_process_sets);
/// Tensors in flight end with SHUT_DOWN_ERROR, on all ranks. horovod_init() may follow.
void horovod_shutdown();
int horovod_is_initialized();

// -1 before horovod_init().
int horovod_rank();
int horovod_local_rank();
int horovod_cross_rank();
int horovod_size();
int horovod_local_size();
int horovod_cross_size();
int horovod_mpi_threads_supported();
/// False before horovod_init().
bool horovod_is_homogeneous();

/// 1; -1 before horovod_init(), -2 if HOROVOD_TIMELINE was not set then.
int horovod_start_timeline(const char* file_name, bool mark_cycles);
/// 1; -1 before horovod_init().
int horovod_stop_timeline();

// Libraries below upstream's engine. Here the backend of tutti takes their place, so that most are absent.
bool horovod_mpi_enabled();
bool horovod_mpi_built();
bool horovod_gloo_enabled();
bool horovod_gloo_built();
int horovod_nccl_built();
bool horovod_ddl_built();
/// Whether tutti has its module for oneCCL.
bool horovod_ccl_built();
bool horovod_cuda_built();
bool horovod_rocm_built();

int horovod_reduce_op_average();
int horovod_reduce_op_sum();
int horovod_reduce_op_adasum();
int horovod_reduce_op_min();
int horovod_reduce_op_max();
int horovod_reduce_op_product();

extern const int HOROVOD_PROCESS_SET_ERROR_INIT;         ///< before horovod_init()
extern const int HOROVOD_PROCESS_SET_ERROR_DYNAMIC;      ///< HOROVOD_DYNAMIC_PROCESS_SETS=1 was not set
extern const int HOROVOD_PROCESS_SET_ERROR_UNKNOWN_SET;  ///< no such set; no such ranks
extern const int HOROVOD_PROCESS_SET_ERROR_FOREIGN_SET;  ///< this rank does not belong to it
extern const int HOROVOD_PROCESS_SET_ERROR_SHUTDOWN;     ///< a rank has left
extern const int HOROVOD_PROCESS_SET_ERROR_EXISTING_SET;

// These two are collective over all ranks, and return the number of the set or an error.
int horovod_add_process_set(const int* ranks, int nranks);
int horovod_remove_process_set(int process_set_id);

// Local. These return an error for sets that do not exist.
int horovod_process_set_rank(int process_set_id);
int horovod_process_set_size(int process_set_id);
/// 1 if this rank belongs to the set, else 0.
int horovod_process_set_included(int process_set_id);
int horovod_number_of_process_sets();
/// The array has a place for each set.
void horovod_process_set_ids(int* ids_prealloc);
/// The array has a place for each rank of the set. Returns 0 or an error.
int horovod_process_set_ranks(int id, int* ranks_prealloc);

}  // extern "C"

// These submit a tensor and return at once. Tensors, names and groups as in tutti/horovod.hpp; `callback` is called
// unless the returned status is an error. Tensors are in host memory (`device` is CPU_DEVICE_ID).

Status EnqueueTensorAllreduce(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                              std::shared_ptr<Tensor> output, ReadyEventList ready_event_list, std::string name,
                              int device, StatusCallback callback, ReduceOp reduce_op = ReduceOp::SUM,
                              double prescale_factor = 1.0, double postscale_factor = 1.0, int32_t process_set_id = 0);

/// A group: its tensors are processed together.
Status EnqueueTensorAllreduces(std::vector<std::shared_ptr<OpContext>>& contexts,
                               std::vector<std::shared_ptr<Tensor>>& tensors,
                               std::vector<std::shared_ptr<Tensor>>& outputs,
                               std::vector<ReadyEventList>& ready_event_lists, std::vector<std::string>& names,
                               int device, std::vector<StatusCallback>& callbacks, ReduceOp reduce_op = ReduceOp::SUM,
                               double prescale_factor = 1.0, double postscale_factor = 1.0, int32_t process_set_id = 0);

/// The output is allocated by the context.
Status EnqueueTensorAllgather(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                              ReadyEventList ready_event_list, const std::string& name, int device,
                              StatusCallback callback, int32_t process_set_id = 0);

/// Tensor n becomes output n of its context.
Status EnqueueTensorAllgathers(std::vector<std::shared_ptr<OpContext>>& contexts,
                               std::vector<std::shared_ptr<Tensor>>& tensors,
                               std::vector<ReadyEventList>& ready_event_lists, std::vector<std::string>& names,
                               int device, std::vector<StatusCallback>& callbacks, int32_t process_set_id = 0);

/// `root_rank` is a rank of the job, also in a process set. The root's `output` may be null.
Status EnqueueTensorBroadcast(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                              std::shared_ptr<Tensor> output, int root_rank, ReadyEventList ready_event_list,
                              const std::string& name, int device, StatusCallback callback, int32_t process_set_id = 0);

/// `splits`: int32, a number of rows for each rank, or of length 0 for equal parts. Output 0 of the context is the
/// result, output 1 has the rows that came from each rank.
Status EnqueueTensorAlltoall(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                             std::shared_ptr<Tensor> splits, ReadyEventList ready_event_list, const std::string& name,
                             int device, StatusCallback callback, int32_t process_set_id = 0);

/// Sum or average. Without `output` the context allocates it.
Status EnqueueTensorReducescatter(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> tensor,
                                  std::shared_ptr<Tensor> output, ReadyEventList ready_event_list,
                                  const std::string& name, int device, StatusCallback callback,
                                  ReduceOp reduce_op = ReduceOp::SUM, int32_t process_set_id = 0,
                                  double prescale_factor = 1.0, double postscale_factor = 1.0);

Status EnqueueTensorReducescatters(std::vector<std::shared_ptr<OpContext>>& contexts,
                                   std::vector<std::shared_ptr<Tensor>>& tensors,
                                   std::vector<std::shared_ptr<Tensor>>& outputs,
                                   std::vector<ReadyEventList>& ready_event_lists, std::vector<std::string>& names,
                                   int device, std::vector<StatusCallback>& callbacks,
                                   ReduceOp reduce_op = ReduceOp::SUM, int32_t process_set_id = 0,
                                   double prescale_factor = 1.0, double postscale_factor = 1.0);

/// Contributes zeros until all ranks have joined; writes the rank that joined last to `output_last_joined_rank`, an
/// int32.
Status EnqueueJoin(std::shared_ptr<OpContext> context, std::shared_ptr<Tensor> output_last_joined_rank,
                   ReadyEventList ready_event_list, const std::string& name, int device, StatusCallback callback,
                   int32_t process_set_id = 0);

Status EnqueueBarrier(StatusCallback callback, int32_t process_set_id = 0);

}  // namespace common
}  // namespace horovod

#pragma GCC visibility pop
