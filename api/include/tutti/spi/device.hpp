#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/export.hpp"
#include "tutti/info/device_info.hpp"
#include "tutti/observer.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/buffer.hpp"
#include "tutti/types/reduction.hpp"

/// Interface that a device module implements: memory and stream-ordered work. All failures are thrown as tutti::Error.
/// Public methods are not virtual, so that reports to the observer are made in one place.
namespace tutti::spi {

/// End of work that was enqueued. Used by one thread at a time; may be destroyed before the work has ended.
class TUTTI_API DeviceEvent {
 public:
  /// Begin and end of the work on the device, in nanoseconds of the observers' clock.
  struct Interval {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  virtual ~DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// Whether the work has ended.
  [[nodiscard]] bool ready();
  /// Blocks until the work has ended; throws its error.
  void wait();
  /// Execution time on the device; call it after the end. For an event from record(): the time when it was reached.
  /// std::nullopt if the stream takes no timestamps.
  [[nodiscard]] std::optional<Interval> interval() { return do_interval(); }

 protected:
  /// `work` names the work, "" if the event stands for no work of its own; static storage.
  DeviceEvent(Device device, std::string_view work) noexcept;

 private:
  virtual bool do_ready() = 0;
  virtual void do_wait() = 0;
  virtual std::optional<Interval> do_interval() = 0;
  void report() noexcept;

  Device device_;
  std::string_view work_;
  OperationId cause_;
  bool is_reported_ = false;
};

/// Holds back the work enqueued on a stream after it until the host opens it. The destructor opens it.
class TUTTI_API DeviceGate {
 public:
  virtual ~DeviceGate() = default;
  DeviceGate(const DeviceGate&) = delete;
  DeviceGate& operator=(const DeviceGate&) = delete;
  /// Callable from any thread. Further calls do nothing.
  void open() noexcept { do_open(); }

 protected:
  DeviceGate() = default;

 private:
  virtual void do_open() noexcept = 0;
};

/// A stream owned by tutti. Work runs in the order in which it was enqueued, with timestamps if the device supports
/// them.
class TUTTI_API DeviceStream {
 public:
  virtual ~DeviceStream() = default;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  [[nodiscard]] const Stream& stream() const noexcept { return stream_; }

 protected:
  DeviceStream() = default;
  Stream stream_;
};

/// Memory that a pointer refers to, as far as the runtime of a stream knows.
struct PointerInfo {
  /// std::nullopt if the stream cannot use the memory.
  std::optional<Memory> where;
  /// Description of memory that the stream cannot use, for messages: "memory of MODULE:0.1 in another context", "no
  /// memory this runtime knows".
  std::string found;
};

/// Reduction of vectors in device memory with the semantics of spi::ReduceKernel; see DeviceRuntime::reduce().
struct DeviceReduction {
  static constexpr std::size_t kMaxOutputs = 2;
  static constexpr std::size_t kMaxInputs = 64;

  Reduction reduction = Reduction::sum;  ///< average is sum with a divisor
  DataType type = DataType::float32;
  std::uint64_t count = 0;
  std::span<void* const> outputs = {};       ///< 1 to kMaxOutputs; may be identical to an input
  std::span<const void* const> inputs = {};  ///< 1 to kMaxInputs, combined in this order
  double prescale = 1.0;                     ///< multiplies every input first; floating types only
  std::uint64_t divisor = 1;                 ///< divides the result; integers truncate toward zero
};

/// Opaque handle with which another process can open device memory.
using IpcHandle = std::vector<std::byte>;

/// Runtime of a device module in this process. Thread-safe, but work on one stream is enqueued by one thread at a time.
/// Memory belongs to the device and context of a stream; make_stream(const Stream&) makes another stream for it.
class TUTTI_API DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  /// All devices, each followed by its sub-devices.
  [[nodiscard]] std::vector<DeviceInfo> devices() { return do_devices(); }
  /// Direct links between the devices, as far as their drivers report them.
  [[nodiscard]] std::vector<DeviceLink> links() { return do_links(); }
  /// The runtime's own object of a device. Throws Error{config} naming the existing devices if it does not exist.
  [[nodiscard]] const void* native_device(Device device) { return do_native_device(device); }

  /// Makes a device the current one of the calling thread while the result exists; the same thread must destroy the
  /// result. For libraries that use the runtime's current device. Null if the runtime has no current device.
  [[nodiscard]] std::shared_ptr<const void> make_current(Device device) { return do_make_current(device); }

  /// The device of an application's queue or stream object.
  [[nodiscard]] Device device_of(void* native_stream) { return do_device_of(native_stream); }
  /// A stream on a device, in tutti's own context.
  [[nodiscard]] std::unique_ptr<DeviceStream> make_stream(Device device) { return do_make_stream(device); }
  /// A stream on the same device and in the same context as `beside`.
  [[nodiscard]] std::unique_ptr<DeviceStream> make_stream(const Stream& beside) { return do_make_stream(beside); }
  /// A number that differs between streams of different devices or contexts, as long as these exist.
  [[nodiscard]] std::uint64_t context_key(const Stream& stream) { return do_context_key(stream); }
  /// tutti's own stream of a device, used if the application passes none; the same one each time.
  [[nodiscard]] const Stream& stream(Device device) { return do_stream(device); }

  /// Memory that a pointer refers to, as seen by the stream.
  [[nodiscard]] PointerInfo locate(const Stream& stream, const void* pointer) { return do_locate(stream, pointer); }
  /// Allocates memory; kind `host` is pinned memory. Throws Error{system} if memory runs out. `owner` is reported to
  /// the observer; static storage.
  [[nodiscard]] void* allocate(const Stream& stream, MemoryKind kind, std::size_t bytes, std::string_view owner);
  void release(const Stream& stream, void* pointer, MemoryKind kind, std::size_t bytes,
               std::string_view owner) noexcept;

  /// Makes a handle with which other processes of this host can open device memory of this process. Throws
  /// Error{unsupported} with the reason if the device cannot; so does import_memory().
  [[nodiscard]] IpcHandle export_memory(const Stream& stream, void* pointer) { return do_export(stream, pointer); }
  /// Opens memory of another process; release it with close_memory().
  [[nodiscard]] void* import_memory(const Stream& stream, std::span<const std::byte> handle) {
    return do_import(stream, handle);
  }
  void close_memory(const Stream& stream, void* imported) noexcept { do_close(stream, imported); }

  /// Enqueues a copy of from.bytes() between memory of the stream's device and of the host.
  [[nodiscard]] std::unique_ptr<DeviceEvent> copy(const Stream& stream, const Buffer& to, const ConstBuffer& from);
  /// Enqueues a fill: sets every byte to `value`.
  [[nodiscard]] std::unique_ptr<DeviceEvent> fill(const Stream& stream, const Buffer& to, std::byte value);
  /// Whether reduce() supports this reduction and type on the stream's device.
  [[nodiscard]] bool can_reduce(const Stream& stream, Reduction reduction, DataType type) {
    return do_can_reduce(stream, reduction, type);
  }
  /// Enqueues a reduction by the device itself. The arrays of pointers need not outlive the call. Throws
  /// Error{invalid_argument} for an undefined reduction or too many vectors.
  [[nodiscard]] std::unique_ptr<DeviceEvent> reduce(const Stream& stream, const DeviceReduction& reduction);
  /// An event that is reached when all work enqueued on the stream so far has ended.
  [[nodiscard]] std::unique_ptr<DeviceEvent> record(const Stream& stream) { return do_record(stream); }
  /// Makes work enqueued on the stream from now on wait for `event`, which must belong to the same runtime.
  void wait(const Stream& stream, DeviceEvent& event) { do_wait(stream, event); }
  /// Makes work enqueued on the stream from now on wait until the host opens the returned gate.
  [[nodiscard]] std::unique_ptr<DeviceGate> hold(const Stream& stream) { return do_hold(stream); }

 protected:
  /// `name` is the name of the module; static storage.
  explicit DeviceRuntime(std::string_view name) noexcept : name_(name) {}

 private:
  virtual std::vector<DeviceInfo> do_devices() = 0;
  virtual std::vector<DeviceLink> do_links() { return {}; }
  virtual const void* do_native_device(Device device) = 0;
  virtual std::shared_ptr<const void> do_make_current(Device) { return nullptr; }
  virtual Device do_device_of(void* native_stream) = 0;
  virtual std::unique_ptr<DeviceStream> do_make_stream(Device device) = 0;
  virtual std::unique_ptr<DeviceStream> do_make_stream(const Stream& beside) = 0;
  virtual std::uint64_t do_context_key(const Stream& stream) = 0;
  virtual const Stream& do_stream(Device device) = 0;
  virtual PointerInfo do_locate(const Stream& stream, const void* pointer) = 0;
  virtual void* do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) = 0;
  virtual void do_release(const Stream& stream, void* pointer) noexcept = 0;
  virtual IpcHandle do_export(const Stream& stream, void* pointer) = 0;
  virtual void* do_import(const Stream& stream, std::span<const std::byte> handle) = 0;
  virtual void do_close(const Stream& stream, void* imported) noexcept = 0;
  virtual std::unique_ptr<DeviceEvent> do_copy(const Stream& stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual std::unique_ptr<DeviceEvent> do_fill(const Stream& stream, void* to, std::byte value, std::size_t bytes) = 0;
  virtual bool do_can_reduce(const Stream&, Reduction, DataType) { return false; }
  virtual std::unique_ptr<DeviceEvent> do_reduce(const Stream& stream, const DeviceReduction& reduction) = 0;
  virtual std::unique_ptr<DeviceEvent> do_record(const Stream& stream) = 0;
  virtual void do_wait(const Stream& stream, DeviceEvent& event) = 0;
  virtual std::unique_ptr<DeviceGate> do_hold(const Stream& stream) = 0;

  std::string_view name_;
};

/// The runtime of a device, including the host; opened on first use. Throws Error{backend_unavailable} with the reason
/// if it is not usable.
[[nodiscard]] TUTTI_API DeviceRuntime& device_runtime(Device device);

/// DeviceRuntime::native_device() of a device of `module`; called by the interop headers. Throws Error{config} if the
/// device belongs to another module.
[[nodiscard]] TUTTI_API const void* native_device(Device device, std::string_view module);

}  // namespace tutti::spi
