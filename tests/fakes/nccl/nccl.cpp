// The functions of libnccl.so.2 that tutti uses, on the CPU.
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../cudart/fake_cudart.hpp"
#include "arithmetic.hpp"
#include "communicator.hpp"
#include "faults.hpp"
#include "launch.hpp"

using namespace tutti::test::fake_nccl;

/// tutti shows this text after the version.
extern "C" __attribute__((visibility("default"))) const char tutti_fake_nccl[] = "a fake of the tests";

namespace {

/// Tasks of a thread between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<std::pair<std::shared_ptr<ncclComm>, std::vector<Task>>> tasks;
};
thread_local Group group;
thread_local std::string thread_error;

ncclResult_t refuse(ncclResult_t error, const std::string& text) {
  thread_error = "fake NCCL: " + text;
  if (group.depth > 0 && group.error == ncclSuccess) group.error = error;
  return error;
}

/// NCCL connects the ranks at the first use of a communicator, which takes time. A non-blocking communicator does that
/// in the background; until it has finished, nothing is on the stream.
ncclResult_t hand_over(const std::shared_ptr<ncclComm>& comm, std::vector<Task> tasks) {
  if (comm->is_blocking || comm->background.joinable()) {
    if (!comm->is_blocking && comm->state == ncclInProgress) {
      fake_cuda_violation("NCCL was called while a call on the same communicator is in progress");
    }
    return launch(comm, std::move(tasks));
  }
  comm->state = ncclInProgress;
  comm->background = std::thread([comm, own = std::move(tasks)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (launch(comm, std::move(own)) != ncclSuccess) return;
    ncclResult_t expected = ncclInProgress;
    comm->state.compare_exchange_strong(expected, ncclSuccess);
  });
  return ncclInProgress;
}

ncclResult_t end_group() {
  const Group collected = std::exchange(group, {});
  if (collected.error != ncclSuccess) return collected.error;
  ncclResult_t result = ncclSuccess;
  for (const auto& [comm, tasks] : collected.tasks) result = std::max(result, hand_over(comm, tasks));
  return result;
}

ncclResult_t collect(ncclComm_t handle, Task task) {
  const auto comm = find(handle, name(task.kind));
  if (comm == nullptr) return refuse(ncclInvalidArgument, "no such communicator");
  const ncclResult_t state = comm->state;
  if (state == ncclInProgress) return refuse(ncclInvalidUsage, "the communicator is not ready");
  if (state != ncclSuccess) return refuse(state, comm->last_error());
  if (refuses_call(comm->rank, ++comm->calls)) {
    thread_error = "fake NCCL: FAKE_NCCL_CALL_ERROR makes this call fail";
    return ncclSystemError;
  }
  if (task.type < 0 || task.type > ncclFloat8e5m2) return refuse(ncclInvalidArgument, "no such type");
  if (task.root < 0 || task.root >= comm->ranks) return refuse(ncclInvalidArgument, "no such rank");
  if (task.reduction >= ncclNumOps) {
    const auto scaled = comm->scaled_sums.find(task.reduction);
    if (scaled == comm->scaled_sums.end() || scaled->second.second != task.type) {
      return refuse(ncclInvalidArgument, "no such operator for this type");
    }
    task.factor = scaled->second.first;
  }
  // The default streams belong to the current device, so NCCL makes its own device current.
  int previous = 0;
  (void)cudaGetDevice(&previous);
  (void)cudaSetDevice(comm->device);
  int device = -1;
  const cudaError_t error = cudaStreamGetDevice(task.stream, &device);
  (void)cudaSetDevice(previous);
  if (error != cudaSuccess || device != comm->device) {
    fake_cuda_violation("NCCL got a stream of another device than that of its communicator");
    return refuse(ncclInvalidUsage, "a stream of another device");
  }
  auto& all = group.tasks;
  if (all.empty() || all.back().first != comm) all.push_back({comm, {}});
  // A task without elements is not launched.
  if (task.count != 0) all.back().second.push_back(task);
  if (all.back().second.empty()) all.pop_back();
  return group.depth > 0 ? ncclSuccess : end_group();
}

ncclResult_t start(ncclComm_t* handle, int ranks, const ncclUniqueId& id, int rank, bool is_blocking) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device))
    return refuse(ncclUnhandledCudaError, cudaGetErrorString(error));
  if (ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks) return refuse(ncclInvalidArgument, "no such rank");
  auto comm = std::make_shared<ncclComm>(id, ranks, rank, device, is_blocking);
  *handle = add(comm);
  if (is_blocking) {
    comm->join();
    return comm->state;
  }
  comm->joining = std::thread([comm] { comm->join(); });
  return ncclInProgress;
}

}  // namespace

ncclResult_t ncclGetVersion(int* number) {
  *number = version();
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "tutti-fake-nccl-%d-%08x%08x", getpid(), random(), random());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config->magic != 0xcafebeef || config->size > sizeof(ncclConfig_t)) {
    return refuse(ncclInvalidArgument, "a configuration that was not initialized");
  }
  return start(comm, ranks, id, rank, config->blocking != 0);
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return start(comm, ranks, id, rank, true);
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  const auto comm = find(handle, "ncclCommFinalize");
  if (comm == nullptr) return ncclInvalidArgument;
  return comm->is_idle() ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  const auto comm = find(handle, "ncclCommDestroy");
  if (comm == nullptr) return ncclInvalidArgument;
  comm->end_threads();
  comm->await_idle();
  remove(handle);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  const auto comm = find(handle, "ncclCommAbort");
  if (comm == nullptr) return ncclInvalidArgument;
  comm->is_aborted = true;
  comm->end_threads();
  remove(handle);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* error) {
  const auto comm = find(handle, "ncclCommGetAsyncError");
  if (comm == nullptr) return ncclInvalidArgument;
  *error = comm->state;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int* count) {
  const auto comm = find(handle, "ncclCommCount");
  if (comm == nullptr) return ncclInvalidArgument;
  *count = comm->ranks;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr std::array<const char*, ncclNumResults> texts = {
      "no error (fake NCCL)",
      "unhandled cuda error (fake NCCL)",
      "unhandled system error (fake NCCL)",
      "internal error (fake NCCL)",
      "invalid argument (fake NCCL)",
      "invalid usage (fake NCCL)",
      "remote process exited or there was a network error (fake NCCL)",
      "NCCL operation in progress (fake NCCL)"};
  return texts[static_cast<std::size_t>(result)];
}

const char* ncclGetLastError(ncclComm_t handle) {
  if (handle == nullptr) return thread_error.c_str();
  if (const auto comm = find(handle, "ncclGetLastError")) {
    if (std::string text = comm->last_error(); !text.empty()) thread_error = std::move(text);
  }
  return thread_error.c_str();
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t handle) {
  const auto comm = find(handle, "ncclRedOpCreatePreMulSum");
  if (comm == nullptr || residence != ncclScalarHostImmediate) return ncclInvalidArgument;
  const int number = comm->next_operator++;
  comm->scaled_sums[number] = {load_scalar(scalar, type), type};
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle) {
  const auto comm = find(handle, "ncclRedOpDestroy");
  return comm != nullptr && comm->scaled_sums.erase(op) == 1 ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) {
    fake_cuda_violation("ncclGroupEnd was called without ncclGroupStart");
    return refuse(ncclInvalidUsage, "no group was begun");
  }
  return --group.depth > 0 ? group.error : end_group();
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {Kind::all_reduce, in, out, count, type, op, 0, stream, 1.0});
}

ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {Kind::reduce, in, out, count, type, op, root, stream, 1.0});
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {Kind::reduce_scatter, in, out, count, type, op, 0, stream, 1.0});
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return collect(comm, {Kind::all_gather, in, out, count, type, ncclSum, 0, stream, 1.0});
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return collect(comm, {Kind::broadcast, in, out, count, type, ncclSum, root, stream, 1.0});
}

ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return collect(comm, {Kind::send, in, nullptr, count, type, ncclSum, peer, stream, 1.0});
}

ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {Kind::recv, nullptr, out, count, type, ncclSum, peer, stream, 1.0});
}
