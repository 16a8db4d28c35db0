#include "host_runtime.hpp"

#include <unistd.h>

#include <cstring>
#include <new>
#include <string>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::host {

namespace {

class DoneEvent final : public spi::DeviceEvent {
 public:
  DoneEvent(std::string_view work, std::optional<Interval> interval) : DeviceEvent({}, work), interval_(interval) {}

 private:
  bool do_ready() override { return true; }
  void do_wait() override {}
  std::optional<Interval> do_interval() override { return interval_; }

  std::optional<Interval> interval_;
};

class HostStream final : public spi::DeviceStream {};

/// Runs `body` at once; the event is already reached.
template <typename Body>
std::unique_ptr<spi::DeviceEvent> run(std::string_view work, const Body& body) {
  const std::uint64_t begin = observer_time_ns();
  body();
  return std::make_unique<DoneEvent>(work, spi::DeviceEvent::Interval{begin, observer_time_ns()});
}

class Runtime final : public spi::DeviceRuntime {
 public:
  Runtime() : DeviceRuntime("host") {}

 private:
  std::vector<DeviceInfo> do_devices() override {
    DeviceInfo info;
    info.name = "host";
    info.driver = "kernels for " + std::string(spi::kernel_target());
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    info.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
    info.free_bytes = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
    info.compute_units = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    return {info};
  }
  const void* do_native_device(Device) override { refuse("has no native device object"); }
  Device do_device_of(void*) override { refuse("has no native streams"); }
  std::unique_ptr<spi::DeviceStream> do_make_stream(Device) override { return std::make_unique<HostStream>(); }
  std::unique_ptr<spi::DeviceStream> do_make_stream(const Stream&) override { return std::make_unique<HostStream>(); }
  std::uint64_t do_context_key(const Stream&) override { return 0; }
  const Stream& do_stream(Device) override { return stream_; }

  spi::PointerInfo do_locate(const Stream&, const void*) override { return {Memory(), {}}; }
  void* do_allocate(const Stream&, MemoryKind, std::size_t bytes) override {
    void* pointer = ::operator new (bytes, std::align_val_t{64}, std::nothrow);
    if (pointer == nullptr) {
      throw Error(ErrorCode::system, "the host has no " + std::to_string(bytes) + " bytes of memory left");
    }
    return pointer;
  }
  void do_release(const Stream&, void* pointer) noexcept override { ::operator delete (pointer, std::align_val_t{64}); }
  spi::IpcHandle do_export(const Stream&, void*) override { refuse_sharing(); }
  void* do_import(const Stream&, std::span<const std::byte>) override { refuse_sharing(); }
  void do_close(const Stream&, void*) noexcept override {}

  std::unique_ptr<spi::DeviceEvent> do_copy(const Stream&, void* to, const void* from, std::size_t bytes) override {
    return run("copy", [&] { spi::copy(to, from, bytes, false); });
  }
  std::unique_ptr<spi::DeviceEvent> do_fill(const Stream&, void* to, std::byte value, std::size_t bytes) override {
    return run("fill", [&] { std::memset(to, static_cast<int>(value), bytes); });
  }
  bool do_can_reduce(const Stream&, Reduction reduction, DataType type) override { return is_defined(reduction, type); }
  std::unique_ptr<spi::DeviceEvent> do_reduce(const Stream&, const spi::DeviceReduction& reduction) override {
    return run("reduce", [&] {
      spi::reduce_kernel(reduction.reduction, reduction.type)(
          reduction.outputs.data(), static_cast<int>(reduction.outputs.size()), reduction.inputs.data(),
          static_cast<int>(reduction.inputs.size()), reduction.count,
          {.prescale = reduction.prescale, .divisor = reduction.divisor});
    });
  }
  std::unique_ptr<spi::DeviceEvent> do_record(const Stream&) override {
    return std::make_unique<DoneEvent>(std::string_view(), std::nullopt);
  }
  void do_wait(const Stream&, spi::DeviceEvent& event) override { event.wait(); }
  std::unique_ptr<spi::DeviceGate> do_hold(const Stream&) override {
    refuse("cannot hold back its stream: work runs at once, in the calling thread");
  }

  [[noreturn]] static void refuse(const std::string& why) { throw Error(ErrorCode::unsupported, "the host " + why); }
  [[noreturn]] static void refuse_sharing() {
    refuse("has no handles for memory; processes share memory from tutti::allocate() instead");
  }

  Stream stream_;
};

}  // namespace

spi::DeviceRuntime& host_runtime() {
  // Never destroyed: static objects may still hold its memory.
  static auto* runtime = new Runtime;
  return *runtime;
}

}  // namespace tutti::host
