// Loaded by the CUDA driver, which CUDA_INJECTION64_PATH tells to, when the program initialises it.
#include <cerrno>
#include <cstdlib>
#include <new>

#include "activity_reader.hpp"
#include "buffer_pool.hpp"
#include "call_names.hpp"
#include "cupti_library.hpp"

namespace tutti::profiling::cuda {

namespace {

/// Never destroyed: CUPTI calls back until the very end of the process.
struct Source {
  CuptiLibrary cupti = open_cupti();
  SourceId id = add_source("BACKEND_CUDA", 1);
  bool records_all = tracing_mode() == TracingMode::full;
  CallNames names;
  BufferPool buffers;
  ActivityReader reader{cupti, id};
};
Source* source = nullptr;

/// Calls of this thread that have begun: functions of the runtime call those of the driver.
constinit thread_local unsigned depth = 0;

constexpr int kNotReady = 600;  ///< cudaErrorNotReady and CUDA_ERROR_NOT_READY: an answer, no error

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    ++depth;
    *call.correlationData = is_recording() ? now_ns() : 0;
    return;
  }
  const std::uint64_t end_ns = now_ns();
  if (depth > 0) --depth;
  const std::uint64_t begin_ns = *call.correlationData;
  if (begin_ns == 0 || !is_recording() || (depth > 0 && !source->records_all)) return;
  const int saved_errno = errno;
  const CallName name = source->names.get(domain, number, call.functionName);
  if (source->records_all || !name.is_query) {
    // Both results are of the size of an int and have 0 as success.
    const int result = call.functionReturnValue == nullptr ? 0 : *static_cast<const int*>(call.functionReturnValue);
    record({.kind = Kind::host,
            .source = source->id,
            .name = name.name,
            .context = current_context(),
            .error = result == kNotReady ? 0 : result,
            .begin_ns = begin_ns,
            .end_ns = end_ns,
            .correlation = correlation_of(source->id, call.correlationId)});
  }
  errno = saved_errno;
}

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = source->buffers.take();
  *bytes = *buffer == nullptr ? 0 : BufferPool::kBytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI on_buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                                  std::size_t bytes) {
  const int saved_errno = errno;
  source->reader.read(buffer, bytes);
  source->reader.sample_memory();
  source->buffers.give_back(buffer);
  std::size_t dropped = 0;
  if (source->cupti.get_dropped(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
    add_problem("CUPTI dropped activity records: device times, traffic and memory of CUDA are incomplete");
  errno = saved_errno;
}

std::uint64_t CUPTIAPI clock() { return now_ns(); }

void flush() { (void)source->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

void enable_activities() noexcept {
  const CuptiLibrary& cupti = source->cupti;
  if (!cupti.has_known_records) {
    add_problem(
        "device times, traffic and memory of CUDA are not recorded: CUPTI is of another version than tutti was built "
        "with");
    return;
  }
  // The clock comes first: it holds for the records of kinds that are enabled later.
  (void)cupti.register_clock(&clock);
  if (cupti.register_callbacks(&on_buffer_requested, &on_buffer_completed) != CUPTI_SUCCESS) return;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMORY2}) {
    (void)cupti.enable(kind);
  }
  constexpr std::uint32_t kPeriodMs = 500;
  if (cupti.flush_period != nullptr) (void)cupti.flush_period(kPeriodMs);
  std::atexit(&flush);
}

void start() noexcept {
  if (source != nullptr || !source_wanted("cuda") || tracing_mode() == TracingMode::minimal) return;
  source = new (std::nothrow) Source;
  if (source == nullptr) return;
  const CuptiLibrary& cupti = source->cupti;
  if (!cupti.is_complete()) {
    add_problem(
        "calls of CUDA are not recorded: there is no libcupti; install nvidia-cuda-cupti or add its folder to "
        "LD_LIBRARY_PATH");
    return;
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cupti.subscribe(&subscriber, &on_call, nullptr) != CUPTI_SUCCESS) {
    add_problem("calls of CUDA are not recorded: CUPTI refused a subscriber; there is one per process");
    return;
  }
  enable_activities();
  (void)cupti.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  (void)cupti.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}

}  // namespace

}  // namespace tutti::profiling::cuda

/// The driver calls this once. 0 would be an error of the program's initialisation.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const int saved_errno = errno;
  tutti::profiling::cuda::start();
  errno = saved_errno;
  return 1;
}
