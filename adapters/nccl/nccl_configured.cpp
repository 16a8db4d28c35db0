// Operations with a configuration per call. tutti has none of the resources that the configuration describes, so it
// only looks at parts that change the result.
#include "nccl_error.hpp"

namespace {

/// Carries out `call` unless the configuration asks for something that would silently be missing.
template <typename Call>
ncclResult_t configured(const ncclCollConfig_t* config, const Call& call) {
  using namespace tutti::nccl_adapter;
  const ncclResult_t checked = guarded([&] {
    if (config == nullptr) return;
    if (config->magic != NCCL_API_MAGIC)
      refuse_argument("the ncclCollConfig_t was not initialised with NCCL_COLLCONFIG_INITIALIZER");
    const bool selects = config->algSelection != nullptr && *config->algSelection != '\0';
    if (selects && config->forceAlgSelection != 0)
      refuse_usage("algSelection names an algorithm of NCCL, which tutti does not have; clear forceAlgSelection");
    if (config->launchCompletionEvent != nullptr)
      refuse_usage("launchCompletionEvent is not there over tutti; record an event after the call");
  });
  return checked == ncclSuccess ? call() : checked;
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduceConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclAllReduce(send, recv, count, type, op, comm, stream); });
}
ncclResult_t ncclBroadcastConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclBroadcast(send, recv, count, type, root, comm, stream); });
}
ncclResult_t ncclReduceConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclReduce(send, recv, count, type, op, root, comm, stream); });
}
ncclResult_t ncclAllGatherConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclAllGather(send, recv, count, type, comm, stream); });
}
ncclResult_t ncclReduceScatterConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclReduceScatter(send, recv, count, type, op, comm, stream); });
}
ncclResult_t ncclAlltoAllConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                                cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclAlltoAll(send, recv, count, type, comm, stream); });
}
ncclResult_t ncclGatherConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclGather(send, recv, count, type, root, comm, stream); });
}
ncclResult_t ncclScatterConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return configured(config, [&] { return ncclScatter(send, recv, count, type, root, comm, stream); });
}

}  // extern "C"
