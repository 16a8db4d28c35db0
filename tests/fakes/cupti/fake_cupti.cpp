#include "fake_cupti.h"

#include <cstring>
#include <mutex>
#include <set>

namespace {

struct State {
  std::recursive_mutex mutex;
  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  std::set<CUpti_CallbackDomain> domains;
  std::set<CUpti_ActivityKind> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc clock = nullptr;
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0;
  std::size_t used = 0;
};
State& state() {
  static auto* instance = new State;
  return *instance;
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    default:
      return 0;
  }
}

/// Gives the buffer back to the subscriber. Call with the lock held.
void deliver() {
  State& now = state();
  if (now.buffer == nullptr) return;
  std::uint8_t* full = now.buffer;
  now.buffer = nullptr;
  now.complete(nullptr, 0, full, now.bytes, now.used);
}

}  // namespace

extern "C" {

void fake_cupti_call(CUpti_CallbackDomain domain, CUpti_CallbackId number, const char* function,
                     std::uint32_t correlation, int result, void (*inner)(void*), void* data) {
  State& now = state();
  const bool is_seen = now.callback != nullptr && now.domains.count(domain) != 0;
  std::uint64_t kept = 0;
  CUpti_CallbackData call = {};
  call.callbackSite = CUPTI_API_ENTER;
  call.functionName = function;
  call.correlationId = correlation;
  call.correlationData = &kept;
  if (is_seen) now.callback(now.user, domain, number, &call);
  if (inner != nullptr) inner(data);
  call.callbackSite = CUPTI_API_EXIT;
  call.functionReturnValue = &result;
  if (is_seen) now.callback(now.user, domain, number, &call);
}

void fake_cupti_put(const void* record, std::size_t bytes) {
  State& now = state();
  const std::scoped_lock lock(now.mutex);
  if (now.request == nullptr || now.kinds.count(static_cast<const CUpti_Activity*>(record)->kind) == 0) return;
  if (now.buffer != nullptr && now.used + bytes > now.bytes) deliver();
  if (now.buffer == nullptr) {
    std::size_t most = 0;
    now.request(&now.buffer, &now.bytes, &most);
    now.used = 0;
  }
  std::memcpy(now.buffer + now.used, record, bytes);
  now.used += bytes;
}

std::uint64_t fake_cupti_time() { return state().clock == nullptr ? 0 : state().clock(); }

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  if (state().callback != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  state().callback = callback;
  state().user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  state().domains.insert(domain);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  state().request = request;
  state().complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  state().clock = clock;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return size_of((*record)->kind) == 0 ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  const std::scoped_lock lock(state().mutex);
  deliver();
  return CUPTI_SUCCESS;
}
}
