#include "cuda_runtime.hpp"

#include <map>

#include "cuda_context.hpp"
#include "cuda_devices.hpp"
#include "cuda_events.hpp"
#include "cuda_gates.hpp"
#include "cuda_memory.hpp"
#include "cuda_sharing.hpp"
#include "tutti/error.hpp"

namespace tutti::cuda_device {

namespace {

/// A stream of tutti's own.
class OwnStream final : public spi::DeviceStream {
 public:
  /// Within a ContextScope of the device.
  OwnStream(const Api& api, Contexts& contexts, Device device)
      : api_(api), contexts_(contexts), handle_(make_own_stream(api)) {
    stream_ = Stream(device, handle_);
  }
  ~OwnStream() override {
    try {
      const ContextScope scope(api_, contexts_, stream_.device().index());
      (void)api_.stream_destroy(handle_);
    } catch (const Error&) {  // NOLINT: a lost device has nothing to give back
    }
  }

 private:
  const Api& api_;
  Contexts& contexts_;
  cudaStream_t handle_;
};

class Runtime final : public spi::DeviceRuntime {
 public:
  Runtime(const Library& library, std::uint16_t module)
      : DeviceRuntime("cuda"),
        api_(*library.api),
        devices_(api_, module, library.devices),
        contexts_(api_, library.devices),
        events_(api_, contexts_),
        clock_(api_, events_, library.devices),
        memory_(api_, contexts_),
        gates_(api_, memory_),
        sharing_(api_, contexts_, memory_) {}

 private:
  std::vector<DeviceInfo> do_devices() override { return devices_.info(); }
  std::vector<DeviceLink> do_links() override { return devices_.links(); }
  const void* do_native_device(Device device) override { return &devices_.ordinal(device); }
  Device do_device_of(void* native_stream) override;
  std::shared_ptr<const void> do_make_current(Device device) override {
    devices_.check(device);
    return std::make_shared<ContextScope>(api_, contexts_, device.index());
  }

  std::unique_ptr<spi::DeviceStream> do_make_stream(Device device) override {
    devices_.check(device);
    const ContextScope scope = enter(device);
    // Measured now, so that the first work does not pay for it.
    (void)clock_.base(device.index());
    return std::make_unique<OwnStream>(api_, contexts_, device);
  }
  std::unique_ptr<spi::DeviceStream> do_make_stream(const Stream& beside) override {
    return do_make_stream(beside.device());
  }
  /// All memory of a device is in its primary context.
  std::uint64_t do_context_key(const Stream& stream) override {
    return static_cast<std::uint64_t>(stream.device().index());
  }
  const Stream& do_stream(Device device) override {
    devices_.check(device);
    const std::scoped_lock lock(mutex_);
    auto& slot = streams_[device.index()];
    if (slot == nullptr) slot = do_make_stream(device);
    return slot->stream();
  }

  spi::PointerInfo do_locate(const Stream& stream, const void* pointer) override;

  void* do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) override;
  void do_release(const Stream& stream, void* pointer) noexcept override {
    memory_.release(stream.device().index(), pointer);
  }
  spi::IpcHandle do_export(const Stream& stream, void* pointer) override {
    return sharing_.export_memory(stream.device(), pointer);
  }
  void* do_import(const Stream& stream, std::span<const std::byte> handle) override {
    return sharing_.import_memory(stream.device(), handle);
  }
  void do_close(const Stream&, void* imported) noexcept override { sharing_.close_memory(imported); }

  std::unique_ptr<spi::DeviceEvent> do_copy(const Stream& stream, void* to, const void* from,
                                            std::size_t bytes) override {
    return submit(stream, "copy",
                  [&] { api_.call(&Api::memcpy_async, to, from, bytes, cudaMemcpyDefault, native(stream)); });
  }
  std::unique_ptr<spi::DeviceEvent> do_fill(const Stream& stream, void* to, std::byte value,
                                            std::size_t bytes) override {
    return submit(stream, "fill",
                  [&] { api_.call(&Api::memset_async, to, static_cast<int>(value), bytes, native(stream)); });
  }
  std::unique_ptr<spi::DeviceEvent> do_reduce(const Stream& stream, const spi::DeviceReduction&) override {
    throw Error(
        ErrorCode::unsupported,
        "reductions on " + stream.device().name() +
            " are not supported: tutti has no kernels for CUDA, because the CUDA runtime has no compiler for them",
        "cuda");
  }
  std::unique_ptr<spi::DeviceEvent> do_record(const Stream& stream) override {
    const ContextScope scope = enter(stream.device());
    refuse_capture(stream);
    // An observer may ask for the time of the event, which takes two events of CUDA.
    if (observer() != nullptr) return submit(stream, {}, [] {});
    return std::make_unique<Event>(api_, events_, stream);
  }
  void do_wait(const Stream& stream, spi::DeviceEvent& event) override {
    const ContextScope scope = enter(stream.device());
    api_.call(&Api::stream_wait_event, native(stream), static_cast<Event&>(event).native_end(), 0U);
  }
  std::unique_ptr<spi::DeviceGate> do_hold(const Stream& stream) override {
    const ContextScope scope = enter(stream.device());
    refuse_capture(stream);
    return gates_.hold(stream);
  }

  [[nodiscard]] ContextScope enter(Device device) { return {api_, contexts_, device.index()}; }

  template <typename Body>
  [[nodiscard]] std::unique_ptr<spi::DeviceEvent> submit(const Stream& stream, std::string_view work,
                                                         const Body& body) {
    const ContextScope scope = enter(stream.device());
    auto event = std::make_unique<Event>(api_, events_, clock_, stream, work);
    body();
    event->record_end(stream);
    return event;
  }

  /// Captured work runs later, perhaps several times: the host would wait for work that does not run now.
  void refuse_capture(const Stream& stream) const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    api_.call(&Api::stream_is_capturing, native(stream), &status);
    if (status == cudaStreamCaptureStatusNone) return;
    throw Error(ErrorCode::unsupported,
                "the stream on " + stream.device().name() +
                    " is being captured into a graph; operations of tutti need the host and cannot be part of a graph",
                "cuda");
  }

  const Api& api_;
  Devices devices_;
  Contexts contexts_;
  EventPool events_;
  Clock clock_;
  MemoryBook memory_;
  Gates gates_;
  Sharing sharing_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<spi::DeviceStream>> streams_;
};

Device Runtime::do_device_of(void* native_stream) {
  auto* stream = static_cast<cudaStream_t>(native_stream);
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    // These stand for a stream of the thread's current device.
    int index = 0;
    api_.call(&Api::get_device, &index);
    return devices_.at(index);
  }
  CUcontext context = nullptr;
  api_.call(&Api::stream_get_ctx, stream, &context);
  const int index = contexts_.device_of(context);
  if (index >= 0) return devices_.at(index);
  throw Error(
      ErrorCode::invalid_argument,
      "the stream belongs to a context made with cuCtxCreate; pass a stream of the device's primary context, as "
      "cudaStreamCreate makes it",
      "cuda");
}

spi::PointerInfo Runtime::do_locate(const Stream& stream, const void* pointer) {
  const Device here = stream.device();
  const ContextScope scope = enter(here);
  cudaPointerAttributes attributes = {};
  api_.call(&Api::pointer_get_attributes, &attributes, pointer);
  switch (attributes.type) {
    case cudaMemoryTypeHost:
      return {Memory{here, MemoryKind::host}, {}};
    case cudaMemoryTypeManaged:
      if (devices_.shares_while_busy(here.index())) return {Memory{here, MemoryKind::shared}, {}};
      return {std::nullopt, "managed memory, which the host cannot access while " + here.name() + " is busy"};
    case cudaMemoryTypeDevice:
      if (attributes.device == here.index()) return {Memory{here, MemoryKind::device}, {}};
      return {std::nullopt, "device memory of " + devices_.at(attributes.device).name()};
    case cudaMemoryTypeUnregistered:
      break;
  }
  return {std::nullopt, "memory that CUDA does not know: ordinary host memory, or freed"};
}

void* Runtime::do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) {
  const Device device = stream.device();
  if (kind == MemoryKind::shared && !devices_.shares_while_busy(device.index())) {
    throw Error(ErrorCode::unsupported,
                "shared memory is not supported on " + device.name() +
                    ": the host cannot access managed memory while the device is busy",
                "cuda");
  }
  try {
    return memory_.allocate(device.index(), kind, bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::system) throw;
    throw Error(ErrorCode::system,
                device.name() + " has no " + std::to_string(bytes) + " bytes of " + std::string(tutti::name(kind)) +
                    " memory left: " + error.what(),
                "cuda", error.vendor_code());
  }
}

}  // namespace

std::unique_ptr<spi::DeviceRuntime> make_runtime(const Library& library, std::uint16_t module) {
  return std::make_unique<Runtime>(library, module);
}

}  // namespace tutti::cuda_device
