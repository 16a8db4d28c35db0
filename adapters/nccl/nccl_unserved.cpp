// Functions of NCCL's interface that tutti does not carry out: each says so and changes nothing.
#include <string>

#include "nccl_error.hpp"

// Empty macros in newer headers; programs of older ones call the functions.
#undef ncclResetDebugInit
#undef pncclResetDebugInit

namespace {

ncclResult_t unserved(const char* function, const char* instead) {
  return tutti::nccl_adapter::guarded(
      [&] { tutti::nccl_adapter::refuse_usage(std::string(function) + "() is not there over tutti; " + instead); });
}

ncclResult_t no_parameter(const char* function) {
  return unserved(function, "`tutti info --config` lists the settings and their values");
}

}  // namespace

extern "C" {

ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*) {
  return unserved("ncclCommGetUniqueId", "create a communicator of all ranks with ncclCommInitRank()");
}
ncclResult_t ncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*) {
  return unserved("ncclCommGrow", "create a communicator of all ranks with ncclCommInitRank()");
}
ncclResult_t ncclCommSuspend(ncclComm_t, int) {
  return unserved("ncclCommSuspend", "destroy the communicator and create it again");
}
ncclResult_t ncclCommResume(ncclComm_t) { return unserved("ncclCommResume", "no communicator is ever suspended"); }
ncclResult_t ncclCommMemStats(ncclComm_t, ncclCommMemStat_t, uint64_t*) {
  return unserved("ncclCommMemStats", "`tutti prof` counts memory");
}
ncclResult_t ncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int, unsigned int,
                           ncclComm_t, cudaStream_t) {
  return unserved("ncclPutSignal", "use ncclSend() and ncclRecv()");
}
ncclResult_t ncclSignal(int, int, int, unsigned int, ncclComm_t, cudaStream_t) {
  return unserved("ncclSignal", "use ncclSend() and ncclRecv()");
}
ncclResult_t ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t) {
  return unserved("ncclWaitSignal", "use ncclSend() and ncclRecv()");
}

ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t* config) {
  if (config != nullptr && config->mode == NCCL_ENCRYPTION_MODE_NONE) return ncclSuccess;
  return unserved("ncclSetEncryption", "ranks authenticate each other, but data is not encrypted");
}

ncclResult_t ncclParamBind(ncclParamHandle_t*, const char*) { return no_parameter("ncclParamBind"); }
ncclResult_t ncclParamGetI8(ncclParamHandle_t, int8_t*) { return no_parameter("ncclParamGetI8"); }
ncclResult_t ncclParamGetI16(ncclParamHandle_t, int16_t*) { return no_parameter("ncclParamGetI16"); }
ncclResult_t ncclParamGetI32(ncclParamHandle_t, int32_t*) { return no_parameter("ncclParamGetI32"); }
ncclResult_t ncclParamGetI64(ncclParamHandle_t, int64_t*) { return no_parameter("ncclParamGetI64"); }
ncclResult_t ncclParamGetU8(ncclParamHandle_t, uint8_t*) { return no_parameter("ncclParamGetU8"); }
ncclResult_t ncclParamGetU16(ncclParamHandle_t, uint16_t*) { return no_parameter("ncclParamGetU16"); }
ncclResult_t ncclParamGetU32(ncclParamHandle_t, uint32_t*) { return no_parameter("ncclParamGetU32"); }
ncclResult_t ncclParamGetU64(ncclParamHandle_t, uint64_t*) { return no_parameter("ncclParamGetU64"); }
ncclResult_t ncclParamGetStr(ncclParamHandle_t, const char**) { return no_parameter("ncclParamGetStr"); }
ncclResult_t ncclParamGet(ncclParamHandle_t, void*, int, int*) { return no_parameter("ncclParamGet"); }
ncclResult_t ncclParamGetParameter(const char*, const char**, int*) { return no_parameter("ncclParamGetParameter"); }

ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* length) {
  if (table == nullptr || length == nullptr) return ncclInvalidArgument;
  static const char* none[] = {nullptr};
  *table = none;
  *length = 0;
  return ncclSuccess;
}
void ncclParamDumpAll() {}

void ncclResetDebugInit() {}
void pncclResetDebugInit() {}

}  // extern "C"
