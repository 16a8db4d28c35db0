#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/buffer.hpp"
#include "tutti/device_info.hpp"
#include "tutti/export.hpp"
#include "tutti/observer.hpp"
#include "tutti/reduction.hpp"
#include "tutti/stream.hpp"

/// What a device module implements: memory, and work that streams order. All failures are thrown as tutti::Error.
/// Public methods are not virtual: what every device must report to the observer is reported here.
namespace tutti::spi {

/// What is enqueued and reaches its end later. Used by one thread at a time; may be destroyed before the end.
class TUTTI_API DeviceEvent {
 public:
  /// When the device began and ended, in nanoseconds of the observers' clock.
  struct Interval {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  virtual ~DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// Whether the end has been reached.
  [[nodiscard]] bool ready();
  /// Blocks until then. Throws the error of the work.
  void wait();
  /// The time the device spent on it, after the end; of an event that record() made, when it was reached. Nothing where
  /// the stream takes no timestamps.
  [[nodiscard]] std::optional<Interval> interval() { return do_interval(); }

 protected:
  /// `work` names what the device does, "" where it does nothing of its own; static storage.
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

/// Holds back what is enqueued on a stream after it, until the host opens it. Opened at the latest when it is
/// destroyed.
class TUTTI_API DeviceGate {
 public:
  virtual ~DeviceGate() = default;
  DeviceGate(const DeviceGate&) = delete;
  DeviceGate& operator=(const DeviceGate&) = delete;
  /// From any thread. Further calls do nothing.
  void open() noexcept { do_open(); }

 protected:
  DeviceGate() = default;

 private:
  virtual void do_open() noexcept = 0;
};

/// A stream of tutti's own: what is enqueued on it runs in that order, with timestamps where the device has them.
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

/// Where a pointer points, as far as the runtime behind a stream knows.
struct PointerInfo {
  /// Nothing when it is no memory that this stream may use.
  std::optional<Memory> where;
  /// What it is otherwise, for messages: "memory of MODULE:0.1 in another context", "no memory this runtime knows".
  std::string found;
};

/// Combines vectors in device memory: the semantics of spi::ReduceKernel, on a stream.
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

/// Memory that another process can open: opaque bytes to be carried to it.
using IpcHandle = std::vector<std::byte>;

/// A device module at work in this process. Thread-safe; the work of one stream is enqueued by one thread at a time.
/// Memory belongs to the device and context of a stream; streams that share it are made with the second make_stream().
class TUTTI_API DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  /// All devices, each followed by its sub-devices.
  [[nodiscard]] std::vector<DeviceInfo> devices() { return do_devices(); }
  /// How they reach each other, as far as their drivers tell.
  [[nodiscard]] std::vector<DeviceLink> links() { return do_links(); }
  /// The runtime's own object for a device. Throws Error{config} when it does not exist, naming what does.
  [[nodiscard]] const void* native_device(Device device) { return do_native_device(device); }

  /// Makes a device the calling thread's as long as the result lives, to be dropped by the same thread: for libraries
  /// that ask the runtime which device they are to use. Null in runtimes that have no such notion.
  [[nodiscard]] std::shared_ptr<const void> make_current(Device device) { return do_make_current(device); }

  /// The device of an application's queue or stream object.
  [[nodiscard]] Device device_of(void* native_stream) { return do_device_of(native_stream); }
  /// A stream on a device, in tutti's own context.
  [[nodiscard]] std::unique_ptr<DeviceStream> make_stream(Device device) { return do_make_stream(device); }
  /// A stream on the same device and in the same context as `beside`.
  [[nodiscard]] std::unique_ptr<DeviceStream> make_stream(const Stream& beside) { return do_make_stream(beside); }
  /// A number that tells streams of different devices or contexts apart, as long as they exist.
  [[nodiscard]] std::uint64_t context_key(const Stream& stream) { return do_context_key(stream); }
  /// The stream of tutti's own that stands for a device where the application brings none; the same one each time.
  [[nodiscard]] const Stream& stream(Device device) { return do_stream(device); }

  /// What memory this is to the stream.
  [[nodiscard]] PointerInfo locate(const Stream& stream, const void* pointer) { return do_locate(stream, pointer); }
  /// `host` is memory the device copies from and to without detours (pinned). Throws Error{system} when there is none
  /// left. `owner` is reported: static storage.
  [[nodiscard]] void* allocate(const Stream& stream, MemoryKind kind, std::size_t bytes, std::string_view owner);
  void release(const Stream& stream, void* pointer, MemoryKind kind, std::size_t bytes,
               std::string_view owner) noexcept;

  /// Makes memory that this process allocated on a device known to others on this host. Throws Error{unsupported} with
  /// the reason where the device cannot; so do the others.
  [[nodiscard]] IpcHandle export_memory(const Stream& stream, void* pointer) { return do_export(stream, pointer); }
  [[nodiscard]] void* import_memory(const Stream& stream, std::span<const std::byte> handle) {
    return do_import(stream, handle);
  }
  void close_memory(const Stream& stream, void* imported) noexcept { do_close(stream, imported); }

  /// Enqueues a copy of from.bytes() between memory of the stream's device and of the host.
  [[nodiscard]] std::unique_ptr<DeviceEvent> copy(const Stream& stream, const Buffer& to, const ConstBuffer& from);
  /// Enqueues setting every byte.
  [[nodiscard]] std::unique_ptr<DeviceEvent> fill(const Stream& stream, const Buffer& to, std::byte value);
  /// Whether reduce() takes vectors of that type on the stream's device.
  [[nodiscard]] bool can_reduce(const Stream& stream, Reduction reduction, DataType type) {
    return do_can_reduce(stream, reduction, type);
  }
  /// Enqueues a reduction by the device itself. The arrays of pointers need not outlive the call.
  [[nodiscard]] std::unique_ptr<DeviceEvent> reduce(const Stream& stream, const DeviceReduction& reduction);
  /// An event that is reached when all that was enqueued on the stream so far has ended.
  [[nodiscard]] std::unique_ptr<DeviceEvent> record(const Stream& stream) { return do_record(stream); }
  /// Lets what is enqueued on the stream from now on wait for `event`, which must be of the same runtime.
  void wait(const Stream& stream, DeviceEvent& event) { do_wait(stream, event); }
  /// Lets what is enqueued on the stream from now on wait for the host.
  [[nodiscard]] std::unique_ptr<DeviceGate> hold(const Stream& stream) { return do_hold(stream); }

 protected:
  /// `name` is the module's; static storage.
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

/// The runtime of a device, the host included; opened on first use. Throws Error{backend_unavailable} with the reason
/// when it is not usable.
[[nodiscard]] TUTTI_API DeviceRuntime& device_runtime(Device device);

/// DeviceRuntime::native_device() of a device that must be of `module`; what the interop headers call.
[[nodiscard]] TUTTI_API const void* native_device(Device device, std::string_view module);

}  // namespace tutti::spi
