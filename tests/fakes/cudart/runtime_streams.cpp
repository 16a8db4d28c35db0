// libcudart: streams, events and host functions.
#include <cstdint>

#include "streams.hpp"

using namespace tutti::test::fake_cuda;

namespace {

cudaError_t find(const char* function, cudaStream_t handle, StreamPointer& stream) {
  if (const cudaError_t error = may_use(function)) return leave(error);
  if (const cudaError_t error = StreamTable::instance().find(handle, stream)) return leave(error);
  return leave(may_call(function, stream->device()));
}

cudaError_t find(const char* function, cudaEvent_t handle, EventPointer& event) {
  if (const cudaError_t error = may_use(function)) return leave(error);
  return leave(StreamTable::instance().find_event(handle, event));
}

cudaError_t state_of(const CompletionPointer& completion) {
  if (completion == nullptr) return cudaSuccess;
  if (!completion->has_come()) return cudaErrorNotReady;
  return completion->await();
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  if (const cudaError_t error = may_call("cudaStreamCreate")) return leave(error);
  if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) return leave(cudaErrorInvalidValue);
  *stream = StreamTable::instance().create(use_current_device(), flags, priority);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t error = may_use("cudaStreamDestroy")) return leave(error);
  return leave(StreamTable::instance().destroy(stream));
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamGetDevice", handle, stream)) return error;
  *device = stream->device();
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamGetPriority", handle, stream)) return error;
  *priority = stream->priority();
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamGetFlags", handle, stream)) return error;
  *flags = stream->is_blocking() ? cudaStreamDefault : cudaStreamNonBlocking;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamSynchronize", handle, stream)) return error;
  const CompletionPointer tail = stream->tail();
  return leave(tail == nullptr ? cudaSuccess : tail->await());
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamQuery", handle, stream)) return error;
  return leave(state_of(stream->tail()));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int) {
  StreamPointer stream;
  EventPointer event;
  if (const cudaError_t error = find("cudaStreamWaitEvent", handle, stream)) return error;
  if (const cudaError_t error = find("cudaStreamWaitEvent", event_handle, event)) return error;
  if (event->record == nullptr) return cudaSuccess;
  return leave(StreamTable::instance().enqueue(
      stream, [] { return cudaSuccess; }, nullptr, event->record));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamIsCapturing", handle, stream)) return error;
  *status = stream->is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamBeginCapture", handle, stream)) return error;
  stream->is_capturing = true;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaStreamEndCapture", handle, stream)) return error;
  stream->is_capturing = false;
  *graph = nullptr;
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  StreamPointer stream;
  if (const cudaError_t error = find("cudaLaunchHostFunc", handle, stream)) return error;
  return leave(StreamTable::instance().enqueue(stream, [function, argument] {
    run_host_function([=] { function(argument); });
    return cudaSuccess;
  }));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (const cudaError_t error = may_call("cudaEventCreate")) return leave(error);
  if ((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) return leave(cudaErrorInvalidValue);
  *event = StreamTable::instance().create_event(use_current_device(), flags);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const cudaError_t error = may_use("cudaEventDestroy")) return leave(error);
  return leave(StreamTable::instance().destroy_event(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t handle) {
  StreamPointer stream;
  EventPointer event;
  if (const cudaError_t error = find("cudaEventRecord", handle, stream)) return error;
  if (const cudaError_t error = find("cudaEventRecord", event_handle, event)) return error;
  if (event->device != stream->device()) {
    return leave(
        violate(cudaErrorInvalidResourceHandle, "cudaEventRecord got an event and a stream of different devices"));
  }
  return leave(StreamTable::instance().enqueue(
      stream, [] { return cudaSuccess; }, &event->record));
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  EventPointer event;
  if (const cudaError_t error = find("cudaEventQuery", handle, event)) return error;
  return leave(state_of(event->record));
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  EventPointer event;
  if (const cudaError_t error = find("cudaEventSynchronize", handle, event)) return error;
  return leave(event->record == nullptr ? cudaSuccess : event->record->await());
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  EventPointer begin;
  EventPointer end;
  if (const cudaError_t error = find("cudaEventElapsedTime", begin_handle, begin)) return error;
  if (const cudaError_t error = find("cudaEventElapsedTime", end_handle, end)) return error;
  for (const EventPointer& event : {begin, end}) {
    if ((event->flags & cudaEventDisableTiming) != 0 || event->record == nullptr || event->device != begin->device) {
      return leave(violate(cudaErrorInvalidResourceHandle,
                           "cudaEventElapsedTime got an event without timing, a record or the same device"));
    }
  }
  if (!begin->record->has_come() || !end->record->has_come()) return leave(cudaErrorNotReady);
  const auto difference = static_cast<std::int64_t>(end->record->time_ns() - begin->record->time_ns());
  *milliseconds = static_cast<float>(static_cast<double>(difference) / 1e6);
  return cudaSuccess;
}
