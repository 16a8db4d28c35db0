#include "streams.hpp"

#include <chrono>
#include <random>
#include <thread>

#include "fake_cudart.hpp"
#include "memory.hpp"

namespace tutti::test::fake_cuda {

std::uint64_t clock_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void take_some_time() {
  static const int mean = setting("FAKE_CUDA_DELAY_US", 20);
  if (mean <= 0) return;
  thread_local std::minstd_rand random(static_cast<unsigned>(clock_ns()));
  std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(2 * mean)));
}

void Completion::arrive(cudaError_t error) {
  const std::scoped_lock lock(mutex_);
  has_come_ = true;
  error_ = error;
  time_ns_ = clock_ns();
  changed_.notify_all();
}

cudaError_t Completion::await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_come_; });
  return error_;
}

bool Completion::has_come() {
  const std::scoped_lock lock(mutex_);
  return has_come_;
}

std::uint64_t Completion::time_ns() {
  const std::scoped_lock lock(mutex_);
  return time_ns_;
}

CompletionPointer StreamQueue::tail() {
  const std::scoped_lock lock(mutex_);
  return tail_;
}

CompletionPointer StreamQueue::push(Body body, std::vector<CompletionPointer> others) {
  const std::scoped_lock lock(mutex_);
  auto end = std::make_shared<Completion>();
  tasks_.push_back({std::move(body), std::move(others), end});
  tail_ = end;
  if (!has_thread_) {
    has_thread_ = true;
    std::thread([self = shared_from_this()] { self->work(); }).detach();
  }
  changed_.notify_all();
  return end;
}

void StreamQueue::close() {
  const std::scoped_lock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

void StreamQueue::work() {
  this_thread().device = device_;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    for (const CompletionPointer& other : task.others) (void)other->await();
    // After an error, the device runs nothing any more, but waits for its work end.
    const cudaError_t failure = Machine::instance().device(device_).failure;
    const cudaError_t result = failure != cudaSuccess ? failure : task.body();
    task.body = {};  // releases its references to memory before the end of the task becomes visible
    task.end->arrive(result);
    lock.lock();
  }
}

StreamTable& StreamTable::instance() {
  static auto* table = new StreamTable;
  return *table;
}

cudaStream_t StreamTable::create(int device, unsigned flags, int priority) {
  const std::scoped_lock lock(mutex_);
  auto stream = std::make_shared<StreamQueue>(device, flags, priority);
  auto* handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_[handle] = std::move(stream);
  return handle;
}

cudaError_t StreamTable::destroy(cudaStream_t handle) {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(handle);
  if (found == streams_.end()) {
    return violate(cudaErrorInvalidResourceHandle, "cudaStreamDestroy got a stream that does not exist");
  }
  found->second->close();
  std::erase_if(closing_, [](const auto& stream) { return stream.expired(); });
  closing_.push_back(found->second);
  graveyard_.push_back(found->second);
  streams_.erase(found);
  return cudaSuccess;
}

StreamPointer StreamTable::default_stream(int device) {
  auto& slot = legacy_[device];
  if (slot == nullptr) slot = std::make_shared<StreamQueue>(device, cudaStreamDefault, 0);
  return slot;
}

StreamPointer StreamTable::thread_stream(int device) {
  thread_local std::map<int, cudaStream_t> own;
  auto& handle = own[device];
  if (handle == nullptr) {
    auto stream = std::make_shared<StreamQueue>(device, cudaStreamDefault, 0);
    handle = reinterpret_cast<cudaStream_t>(stream.get());
    streams_[handle] = std::move(stream);
  }
  return streams_[handle];
}

cudaError_t StreamTable::find(cudaStream_t handle, StreamPointer& stream) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
    const int device = use_current_device();
    const std::scoped_lock lock(mutex_);
    stream = handle == cudaStreamPerThread ? thread_stream(device) : default_stream(device);
    return cudaSuccess;
  }
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(handle);
  if (found == streams_.end()) {
    return violate(cudaErrorInvalidResourceHandle, "a function got a stream that does not exist");
  }
  stream = found->second;
  return cudaSuccess;
}

cudaEvent_t StreamTable::create_event(int device, unsigned flags) {
  const std::scoped_lock lock(mutex_);
  auto event = std::make_shared<Event>();
  event->device = device;
  event->flags = flags;
  auto* handle = reinterpret_cast<cudaEvent_t>(event.get());
  events_[handle] = std::move(event);
  return handle;
}

cudaError_t StreamTable::destroy_event(cudaEvent_t handle) {
  const std::scoped_lock lock(mutex_);
  const auto found = events_.find(handle);
  if (found == events_.end()) {
    return violate(cudaErrorInvalidResourceHandle, "cudaEventDestroy got an event that does not exist");
  }
  found->second->record.reset();
  graveyard_.push_back(std::move(found->second));
  events_.erase(found);
  return cudaSuccess;
}

cudaError_t StreamTable::find_event(cudaEvent_t handle, EventPointer& event) {
  const std::scoped_lock lock(mutex_);
  const auto found = events_.find(handle);
  if (found == events_.end()) {
    return violate(cudaErrorInvalidResourceHandle, "a function got an event that does not exist");
  }
  event = found->second;
  return cudaSuccess;
}

std::vector<StreamPointer> StreamTable::all_of(int device) {
  std::vector<StreamPointer> result;
  for (const auto& [handle, stream] : streams_) {
    if (stream->device() == device) result.push_back(stream);
  }
  for (const auto& weak : closing_) {
    if (auto stream = weak.lock(); stream != nullptr && stream->device() == device) result.push_back(stream);
  }
  return result;
}

cudaError_t StreamTable::enqueue(const StreamPointer& stream, StreamQueue::Body body, CompletionPointer* end,
                                 CompletionPointer after) {
  if (stream->is_capturing) {
    return violate(cudaErrorStreamCaptureUnsupported, "work was enqueued on a stream that is being captured");
  }
  const std::scoped_lock lock(mutex_);
  std::vector<CompletionPointer> others;
  if (after != nullptr) others.push_back(std::move(after));
  const auto add_tail = [&](const StreamPointer& other) {
    if (auto tail = other->tail()) others.push_back(std::move(tail));
  };
  const StreamPointer legacy = default_stream(stream->device());
  if (stream == legacy) {
    for (const StreamPointer& other : all_of(stream->device())) {
      if (other->is_blocking()) add_tail(other);
    }
  } else if (stream->is_blocking()) {
    add_tail(legacy);
  }
  const CompletionPointer completion = stream->push(std::move(body), std::move(others));
  if (end != nullptr) *end = completion;
  return cudaSuccess;
}

cudaError_t StreamTable::await_idle(int device) {
  std::vector<StreamPointer> streams;
  {
    const std::scoped_lock lock(mutex_);
    streams = all_of(device);
    streams.push_back(default_stream(device));
  }
  for (const StreamPointer& stream : streams) {
    if (const CompletionPointer tail = stream->tail()) (void)tail->await();
  }
  return Machine::instance().device(device).failure;
}

namespace {

/// The driver's thread for host functions.
class CallbackThread {
 public:
  static CallbackThread& instance() {
    static auto* thread = new CallbackThread;
    return *thread;
  }
  void run(const std::function<void()>& function) {
    const auto end = std::make_shared<Completion>();
    {
      const std::scoped_lock lock(mutex_);
      functions_.emplace_back([function, end] {
        this_thread().is_in_callback = true;
        function();
        end->arrive(cudaSuccess);
      });
    }
    changed_.notify_all();
    (void)end->await();
  }

 private:
  CallbackThread() {
    std::thread([this] {
      while (true) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !functions_.empty(); });
        const auto function = std::move(functions_.front());
        functions_.pop_front();
        lock.unlock();
        function();
      }
    }).detach();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> functions_;
};

}  // namespace

void run_host_function(const std::function<void()>& function) { CallbackThread::instance().run(function); }

}  // namespace tutti::test::fake_cuda

using namespace tutti::test::fake_cuda;

cudaError_t fake_cuda_launch(cudaStream_t handle, void (*body)(void*), void* argument) {
  StreamPointer stream;
  if (const cudaError_t error = may_call("fake_cuda_launch")) return leave(error);
  if (const cudaError_t error = StreamTable::instance().find(handle, stream)) return leave(error);
  return leave(StreamTable::instance().enqueue(stream, [body, argument, device = stream->device()] {
    take_some_time();
    this_thread().is_in_callback = true;
    body(argument);
    this_thread().is_in_callback = false;
    return Machine::instance().device(device).failure.load();
  }));
}

void* fake_cuda_access(cudaStream_t handle, const void* pointer, std::size_t bytes) {
  StreamPointer stream;
  if (StreamTable::instance().find(handle, stream) != cudaSuccess) return nullptr;
  Access access;
  (void)resolve_for_kernel(stream->device(), pointer, bytes, access);
  return access.view;
}
