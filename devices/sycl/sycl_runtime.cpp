#include "sycl_runtime.hpp"

#include <array>
#include <map>
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>
#include <sycl/sycl.hpp>
#include <utility>

#include "sycl_call.hpp"
#include "sycl_devices.hpp"
#include "sycl_events.hpp"
#include "sycl_gates.hpp"
#include "sycl_kernels.hpp"

namespace tutti::sycl_device {

namespace {

namespace ipc = ::sycl::ext::oneapi::experimental::ipc;
namespace property = ::sycl::property;

/// A queue of tutti's own.
class OwnStream final : public spi::DeviceStream {
 public:
  OwnStream(Device device, ::sycl::queue queue) : queue_(std::move(queue)) { stream_ = Stream(device, &queue_); }

  [[nodiscard]] static std::unique_ptr<OwnStream> make(Device number, const ::sycl::context& context,
                                                       const ::sycl::device& device) {
    const ::sycl::property_list properties{property::queue::in_order(), property::queue::enable_profiling()};
    return call("queue::queue",
                [&] { return std::make_unique<OwnStream>(number, ::sycl::queue(context, device, properties)); });
  }

 private:
  ::sycl::queue queue_;
};

std::string kind_text(::sycl::usm::alloc kind) {
  return kind == ::sycl::usm::alloc::host ? "host" : kind == ::sycl::usm::alloc::device ? "device" : "shared";
}

MemoryKind kind_of(::sycl::usm::alloc kind) noexcept {
  if (kind == ::sycl::usm::alloc::host) return MemoryKind::host;
  return kind == ::sycl::usm::alloc::device ? MemoryKind::device : MemoryKind::shared;
}

class Runtime final : public spi::DeviceRuntime {
 public:
  Runtime(std::uint16_t module, std::uint64_t cpu_parts) : DeviceRuntime("sycl"), devices_(module, cpu_parts) {
    if (devices_.empty()) {
      throw Error(ErrorCode::backend_unavailable,
                  "the SYCL runtime finds no device with USM" +
                      (devices_.left_out().empty() ? std::string() : " (" + devices_.left_out() + ")"),
                  "sycl");
    }
  }

 private:
  std::vector<DeviceInfo> do_devices() override { return devices_.info(); }
  const void* do_native_device(Device device) override { return &devices_.get(device); }
  Device do_device_of(void* native_stream) override {
    return devices_.number_of(static_cast<::sycl::queue*>(native_stream)->get_device());
  }

  std::unique_ptr<spi::DeviceStream> do_make_stream(Device device) override {
    return OwnStream::make(device, context_of(device), devices_.get(device));
  }
  std::unique_ptr<spi::DeviceStream> do_make_stream(const Stream& beside) override {
    const ::sycl::queue& queue = queue_of(beside);
    return OwnStream::make(beside.device(), queue.get_context(), queue.get_device());
  }
  std::uint64_t do_context_key(const Stream& stream) override {
    const ::sycl::queue& queue = queue_of(stream);
    const std::uint64_t device = std::hash<::sycl::device>()(queue.get_device());
    return std::hash<::sycl::context>()(queue.get_context()) ^ (device << 1 | device >> 63);
  }
  const Stream& do_stream(Device device) override {
    const std::scoped_lock lock(mutex_);
    auto& slot = streams_[key(device)];
    if (slot == nullptr) slot = OwnStream::make(device, context_with_lock(device), devices_.get(device));
    return slot->stream();
  }

  spi::PointerInfo do_locate(const Stream& stream, const void* pointer) override;

  void* do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) override;
  void do_release(const Stream& stream, void* pointer) noexcept override {
    try {
      call("free", [&] { ::sycl::free(pointer, queue_of(stream)); });
    } catch (const Error&) {  // NOLINT: the caller cannot handle it
    }
  }

  spi::IpcHandle do_export(const Stream& stream, void* pointer) override {
    check_ipc(stream);
    return call("ipc::memory::get", [&] {
      const auto handle = ipc::memory::get(pointer, queue_of(stream).get_context());
      return handle.data();
    });
  }
  void* do_import(const Stream& stream, std::span<const std::byte> handle) override {
    check_ipc(stream);
    const ::sycl::queue& queue = queue_of(stream);
    return call("ipc::memory::open", [&] {
      return ipc::memory::open(ipc::handle_data_t(handle.begin(), handle.end()), queue.get_context(),
                               queue.get_device());
    });
  }
  void do_close(const Stream& stream, void* imported) noexcept override {
    try {
      call("ipc::memory::close", [&] { ipc::memory::close(imported, queue_of(stream).get_context()); });
    } catch (const Error&) {  // NOLINT: the caller cannot handle it
    }
  }

  std::unique_ptr<spi::DeviceEvent> do_copy(const Stream& stream, void* to, const void* from,
                                            std::size_t bytes) override {
    return submit(stream, "copy", "handler::memcpy",
                  [=](::sycl::handler& handler) { handler.memcpy(to, from, bytes); });
  }
  std::unique_ptr<spi::DeviceEvent> do_fill(const Stream& stream, void* to, std::byte value,
                                            std::size_t bytes) override {
    return submit(stream, "fill", "handler::memset",
                  [=](::sycl::handler& handler) { handler.memset(to, static_cast<int>(value), bytes); });
  }
  bool do_can_reduce(const Stream& stream, Reduction, DataType type) override {
    return Kernels::can_reduce(stream, type);
  }
  std::unique_ptr<spi::DeviceEvent> do_reduce(const Stream& stream, const spi::DeviceReduction& reduction) override {
    return kernels_.reduce(stream, reduction);
  }
  std::unique_ptr<spi::DeviceEvent> do_record(const Stream& stream) override { return sycl_device::record(stream); }
  void do_wait(const Stream& stream, spi::DeviceEvent& event) override {
    submit_wait(queue_of(stream), static_cast<Event&>(event).native());
  }
  std::unique_ptr<spi::DeviceGate> do_hold(const Stream& stream) override {
    return sycl_device::hold(queue_of(stream));
  }

  /// tutti's own context; each device and each sub-device has one.
  [[nodiscard]] ::sycl::context context_of(Device device) {
    const std::scoped_lock lock(mutex_);
    return context_with_lock(device);
  }
  [[nodiscard]] ::sycl::context context_with_lock(Device device) {
    const auto known = contexts_.find(key(device));
    if (known != contexts_.end()) return known->second;
    const ::sycl::context context = call("context::context", [&] { return ::sycl::context(devices_.get(device)); });
    return contexts_.emplace(key(device), context).first->second;
  }
  [[nodiscard]] static std::pair<int, int> key(Device device) noexcept { return {device.index(), device.sub_device()}; }

  void check_ipc(const Stream& stream) {
    if (queue_of(stream).get_device().has(::sycl::aspect::ext_oneapi_ipc_memory)) return;
    throw Error(ErrorCode::unsupported,
                "the driver of " + stream.device().name() + " cannot share device memory between processes", "sycl");
  }

  Devices devices_;
  Kernels kernels_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, ::sycl::context> contexts_;
  std::map<std::pair<int, int>, std::unique_ptr<OwnStream>> streams_;
};

spi::PointerInfo Runtime::do_locate(const Stream& stream, const void* pointer) {
  using ::sycl::usm::alloc;
  const ::sycl::queue& queue = queue_of(stream);
  const ::sycl::context context = queue.get_context();
  const alloc kind = call("get_pointer_type", [&] { return ::sycl::get_pointer_type(pointer, context); });
  if (kind == alloc::unknown) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, other] : contexts_) {
      const alloc elsewhere = ::sycl::get_pointer_type(pointer, other);
      if (elsewhere == alloc::unknown) continue;
      const Device owner = devices_.number_of(::sycl::get_pointer_device(pointer, other));
      return {std::nullopt, kind_text(elsewhere) + " memory of " + owner.name() + " in another context"};
    }
    return {std::nullopt, "memory outside the stream's context: ordinary host memory, freed, or of another context"};
  }
  const MemoryKind found = kind_of(kind);
  // Host memory of the context has no device.
  if (found == MemoryKind::host) return {Memory{stream.device(), found}, {}};
  const Device owner =
      devices_.number_of(call("get_pointer_device", [&] { return ::sycl::get_pointer_device(pointer, context); }));
  const bool is_reachable = found == MemoryKind::shared || owner == stream.device() ||
                            (owner.index() == stream.device().index() && owner.sub_device() < 0);
  if (!is_reachable) return {std::nullopt, "device memory of " + owner.name()};
  return {Memory{stream.device(), found}, {}};
}

void* Runtime::do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) {
  using ::sycl::usm::alloc;
  static constexpr std::array<alloc, 3> kKinds = {alloc::host, alloc::device, alloc::shared};
  constexpr std::size_t kAlignment = 64;
  const std::string_view function = kind == MemoryKind::host     ? "aligned_alloc_host"
                                    : kind == MemoryKind::device ? "aligned_alloc_device"
                                                                 : "aligned_alloc_shared";
  void* pointer = call(function, [&] {
    return ::sycl::aligned_alloc(kAlignment, bytes, queue_of(stream), kKinds[static_cast<std::size_t>(kind)]);
  });
  if (pointer == nullptr && bytes != 0) {
    throw Error(ErrorCode::system,
                stream.device().name() + " has no " + std::to_string(bytes) + " bytes of " +
                    std::string(tutti::name(kind)) + " memory left",
                "sycl");
  }
  return pointer;
}

}  // namespace

}  // namespace tutti::sycl_device

tutti::spi::DeviceRuntime* tutti_sycl_open(std::uint16_t module, std::uint64_t cpu_parts) {
  using namespace tutti;
  try {
    return new sycl_device::Runtime(module, cpu_parts);
  } catch (const ::sycl::exception& error) {
    throw Error(ErrorCode::backend_unavailable, std::string("the SYCL runtime does not start: ") + error.what(), "sycl",
                error.code().value());
  }
}
