// A fake device: a card of two sub-devices whose streams are threads. It is as strict as hardware: the host cannot
// access its memory, and a stream refuses memory of the other sub-device. For tests of code that uses devices, also
// with sanitizers.
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "fakes/threaded_memory.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/device_module.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::test {
namespace {

constexpr int kParts = 2;

/// An event that happens once.
class Moment {
 public:
  void arrive() {
    const std::scoped_lock lock(mutex_);
    has_come_ = true;
    changed_.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_come_; });
  }
  [[nodiscard]] bool has_come() {
    const std::scoped_lock lock(mutex_);
    return has_come_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_come_ = false;
};

struct Progress {
  Moment end;
  spi::DeviceEvent::Interval interval = {};
  std::optional<Error> error;
};

class Event final : public spi::DeviceEvent {
 public:
  Event(Device device, std::string_view work, std::shared_ptr<Progress> progress)
      : DeviceEvent(device, work), progress_(std::move(progress)) {}
  [[nodiscard]] const std::shared_ptr<Progress>& progress() const noexcept { return progress_; }

 private:
  bool do_ready() override { return progress_->end.has_come(); }
  void do_wait() override {
    progress_->end.await();
    if (progress_->error) throw Error(*progress_->error);
  }
  std::optional<Interval> do_interval() override { return progress_->interval; }

  std::shared_ptr<Progress> progress_;
};

class Gate final : public spi::DeviceGate {
 public:
  explicit Gate(std::shared_ptr<Moment> moment) : moment_(std::move(moment)) {}
  ~Gate() override { moment_->arrive(); }

 private:
  void do_open() noexcept override { moment_->arrive(); }
  std::shared_ptr<Moment> moment_;
};

/// A thread that runs its tasks in order.
class Queue final : public spi::DeviceStream {
 public:
  explicit Queue(Device device) : device_(device), thread_([this] { work(); }) { stream_ = Stream(device, this); }
  ~Queue() override {
    push({});
    thread_.join();
  }
  [[nodiscard]] Device device() const noexcept { return device_; }

  [[nodiscard]] std::unique_ptr<spi::DeviceEvent> submit(std::string_view name, std::function<void()> body) {
    auto progress = std::make_shared<Progress>();
    push([progress, body = std::move(body)] {
      progress->interval.begin_ns = observer_time_ns();
      try {
        body();
      } catch (const Error& error) {
        progress->error = error;
      }
      progress->interval.end_ns = observer_time_ns();
      progress->end.arrive();
    });
    return std::make_unique<Event>(device_, name, progress);
  }
  void push(std::function<void()> task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      if (!task) return;
      lock.unlock();
      task();
      lock.lock();
    }
  }

  Device device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

Queue& queue_of(const Stream& stream) { return *static_cast<Queue*>(stream.native()); }

class Runtime final : public spi::DeviceRuntime {
 public:
  explicit Runtime(std::uint16_t module) : DeviceRuntime("threaded"), module_(module) {}

 private:
  struct Block {
    std::size_t bytes;
    Memory where;
  };

  std::vector<DeviceInfo> do_devices() override {
    std::vector<DeviceInfo> rows;
    for (int part = -1; part < kParts; ++part) {
      DeviceInfo info;
      info.device = Device(module_, 0, static_cast<std::int16_t>(part));
      info.name = "fake card of threads";
      info.sub_devices = part < 0 ? kParts : 0;
      info.is_fake = true;
      rows.push_back(info);
    }
    return rows;
  }
  const void* do_native_device(Device) override {
    throw Error(ErrorCode::unsupported, "the fake device has no native object");
  }
  Device do_device_of(void* native) override { return static_cast<Queue*>(native)->device(); }
  std::unique_ptr<spi::DeviceStream> do_make_stream(Device device) override { return std::make_unique<Queue>(device); }
  std::unique_ptr<spi::DeviceStream> do_make_stream(const Stream& beside) override {
    return std::make_unique<Queue>(beside.device());
  }
  std::uint64_t do_context_key(const Stream& stream) override {
    return static_cast<std::uint64_t>(stream.device().sub_device() + 1);
  }
  const Stream& do_stream(Device device) override {
    const std::scoped_lock lock(mutex_);
    auto& slot = streams_[device.sub_device()];
    if (slot == nullptr) slot = std::make_unique<Queue>(device);
    return slot->stream();
  }

  spi::PointerInfo do_locate(const Stream& stream, const void* pointer) override {
    const std::scoped_lock lock(mutex_);
    const Block* block = find(pointer, 1);
    if (block == nullptr) return {std::nullopt, "no memory of the fake card"};
    if (block->where.device != stream.device()) return {std::nullopt, "memory of " + block->where.device.name()};
    return {block->where, {}};
  }
  void* do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) override {
    auto address = reinterpret_cast<std::uintptr_t>(::operator new (bytes, std::align_val_t{64}));
    if (kind == MemoryKind::device) address += kDeviceOffset;
    const std::scoped_lock lock(mutex_);
    blocks_[address] = {bytes, {stream.device(), kind}};
    return reinterpret_cast<void*>(address);
  }
  void do_release(const Stream&, void* pointer) noexcept override {
    const std::scoped_lock lock(mutex_);
    blocks_.erase(reinterpret_cast<std::uintptr_t>(pointer));
    ::operator delete (reach(pointer), std::align_val_t{64});
  }
  spi::IpcHandle do_export(const Stream&, void*) override { throw Error(ErrorCode::unsupported, "a fake"); }
  void* do_import(const Stream&, std::span<const std::byte>) override { throw Error(ErrorCode::unsupported, "a fake"); }
  void do_close(const Stream&, void*) noexcept override {}

  std::unique_ptr<spi::DeviceEvent> do_copy(const Stream& stream, void* to, const void* from,
                                            std::size_t bytes) override {
    return queue_of(stream).submit("copy", [this, stream, to, from, bytes] {
      check(stream, to, bytes);
      check(stream, from, bytes);
      std::memcpy(reach(to), reach(from), bytes);
    });
  }
  std::unique_ptr<spi::DeviceEvent> do_fill(const Stream& stream, void* to, std::byte value,
                                            std::size_t bytes) override {
    return queue_of(stream).submit("fill", [this, stream, to, value, bytes] {
      check(stream, to, bytes);
      std::memset(reach(to), static_cast<int>(value), bytes);
    });
  }
  std::unique_ptr<spi::DeviceEvent> do_reduce(const Stream&, const spi::DeviceReduction&) override {
    throw Error(ErrorCode::unsupported, "the fake device has no reductions");
  }
  std::unique_ptr<spi::DeviceEvent> do_record(const Stream& stream) override {
    return queue_of(stream).submit({}, [] {});
  }
  void do_wait(const Stream& stream, spi::DeviceEvent& event) override {
    queue_of(stream).push([progress = static_cast<Event&>(event).progress()] { progress->end.await(); });
  }
  std::unique_ptr<spi::DeviceGate> do_hold(const Stream& stream) override {
    auto moment = std::make_shared<Moment>();
    queue_of(stream).push([moment] { moment->await(); });
    return std::make_unique<Gate>(moment);
  }

  /// The address for the CPU.
  static void* reach(const void* pointer) noexcept { return const_cast<void*>(host_view(pointer)); }
  /// The allocation that contains all of the bytes; null if there is none. Call with the lock held.
  [[nodiscard]] const Block* find(const void* pointer, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return nullptr;
    --block;
    return address + bytes <= block->first + block->second.bytes ? &block->second : nullptr;
  }
  /// Throws unless the memory belongs to the stream's sub-device or is ordinary host memory.
  void check(const Stream& stream, const void* pointer, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const Block* block = find(pointer, bytes);
    if (block == nullptr && reinterpret_cast<std::uintptr_t>(pointer) < kDeviceOffset) return;
    if (block == nullptr) throw Error(ErrorCode::backend_failure, "the fake card has no such memory", "threaded");
    if (block->where.device != stream.device()) {
      throw Error(ErrorCode::backend_failure,
                  "a stream of " + stream.device().name() + " uses memory of " + block->where.device.name(),
                  "threaded");
    }
  }

  std::uint16_t module_;
  std::mutex mutex_;
  std::map<std::uintptr_t, Block> blocks_;
  std::map<int, std::unique_ptr<Queue>> streams_;
};

constexpr spi::DeviceModule kModule = {
    .name = "threaded",
    .variant = {},
    .description = "a fake of the tests: a card of two sub-devices whose streams are threads",
    .probe =
        [](const Config&) {
          return spi::DeviceProbe{true, "it is a fake", "1"};
        },
    .open = [](const spi::DeviceContext& context) -> std::unique_ptr<spi::DeviceRuntime> {
      return std::make_unique<Runtime>(context.module);
    },
};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::DeviceModule* tutti_device_module() { return &tutti::test::kModule; }
