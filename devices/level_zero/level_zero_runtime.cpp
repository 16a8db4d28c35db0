#include "level_zero_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "level_zero_devices.hpp"
#include "level_zero_events.hpp"
#include "level_zero_memory.hpp"
#include "tutti/error.hpp"

namespace tutti::level_zero_device {

namespace {

/// An immediate command list of tutti's own.
class OwnStream final : public spi::DeviceStream {
 public:
  OwnStream(const DeviceEntry& device, ze_context_handle_t context, const ze_command_queue_desc_t& queue,
            std::shared_ptr<EventPool> pool)
      : pool_(std::move(pool)), list_{nullptr, context, device.handle, false, queue.ordinal, queue.index} {
    const Api& api = pool_->api();
    api.call(api.list_create_immediate, context, device.handle, &queue, &list_.list);
    stream_ = Stream(device.number, &list_);
  }
  /// Waits for the appended commands: a list must not be destroyed before they have ended.
  ~OwnStream() override {
    const Api& api = pool_->api();
    try {
      record(stream_, pool_)->wait();
    } catch (const Error&) {  // NOLINT: a device that is lost does not come back
    }
    (void)api.list_destroy(list_.list);
  }

 private:
  std::shared_ptr<EventPool> pool_;
  CommandList list_;
};

/// An engine of the hardware that runs command lists. The lists of one engine run one command at a time, so that all
/// of them queue behind a command that waits.
struct Engine {
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;
  bool only_copies = false;

  [[nodiscard]] bool is_of(const CommandList& list) const noexcept {
    return ordinal == list.ordinal && index == list.index;
  }
};

/// The engines of a device that can copy. Those that do nothing else come first, to leave the others to the
/// application; their first group is meant for copies from and to the host.
std::vector<Engine> find_engines(const Api& api, const DeviceEntry& device) {
  std::uint32_t count = 0;
  api.call(api.device_get_queue_groups, device.handle, &count, nullptr);
  std::vector<ze_command_queue_group_properties_t> groups(count);
  for (auto& group : groups) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  if (count > 0) api.call(api.device_get_queue_groups, device.handle, &count, groups.data());
  std::vector<Engine> engines;
  for (const bool only_copies : {true, false}) {
    for (std::uint32_t ordinal = 0; ordinal < count; ++ordinal) {
      const auto flags = groups[ordinal].flags;
      const bool copies = (flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) != 0;
      const bool computes = (flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0;
      if (!copies || computes == only_copies) continue;
      for (std::uint32_t index = 0; index < groups[ordinal].numQueues; ++index) {
        engines.push_back({ordinal, index, only_copies});
      }
    }
  }
  return engines;
}

class Runtime final : public spi::DeviceRuntime {
 public:
  Runtime(Api api, std::uint16_t module)
      : DeviceRuntime("level_zero"), api_(std::move(api)), devices_(api_, module), memory_(api_, devices_) {}

 private:
  std::vector<DeviceInfo> do_devices() override { return devices_.info(); }
  std::vector<DeviceLink> do_links() override { return devices_.links(); }
  const void* do_native_device(Device device) override { return &usable(device).handle; }
  Device do_device_of(void* native_stream) override;

  std::unique_ptr<spi::DeviceStream> do_make_stream(Device device) override {
    const DeviceEntry& entry = usable(device);
    return make_stream(entry, context_of(entry.driver), nullptr);
  }
  std::unique_ptr<spi::DeviceStream> do_make_stream(const Stream& beside) override {
    return make_stream(usable(beside.device()), list_of(beside).context, &list_of(beside));
  }
  /// The engine is part of the key: a list made beside one stream may queue behind the gate of another stream.
  std::uint64_t do_context_key(const Stream& stream) override {
    const CommandList& list = list_of(stream);
    const auto device = reinterpret_cast<std::uintptr_t>(list.device);
    const std::uint64_t engine = std::uint64_t{list.ordinal} << 32 | list.index;
    return reinterpret_cast<std::uintptr_t>(list.context) ^ (device << 1 | device >> 63) ^ engine << 48 ^ engine >> 16;
  }
  const Stream& do_stream(Device device) override;

  spi::PointerInfo do_locate(const Stream& stream, const void* pointer) override;
  void* do_allocate(const Stream& stream, MemoryKind kind, std::size_t bytes) override {
    return memory_.allocate(stream, kind, bytes);
  }
  void do_release(const Stream& stream, void* pointer) noexcept override { memory_.release(stream, pointer); }
  spi::IpcHandle do_export(const Stream& stream, void* pointer) override {
    return memory_.export_memory(stream, pointer);
  }
  void* do_import(const Stream& stream, std::span<const std::byte> handle) override {
    return memory_.import_memory(stream, handle);
  }
  void do_close(const Stream& stream, void* imported) noexcept override { memory_.close_memory(stream, imported); }

  std::unique_ptr<spi::DeviceEvent> do_copy(const Stream& stream, void* to, const void* from,
                                            std::size_t bytes) override;
  std::unique_ptr<spi::DeviceEvent> do_fill(const Stream& stream, void* to, std::byte value,
                                            std::size_t bytes) override;
  std::unique_ptr<spi::DeviceEvent> do_reduce(const Stream&, const spi::DeviceReduction&) override {
    throw Error(ErrorCode::unsupported,
                "reductions on Level Zero devices are not supported: this build has no SPIR-V kernels", "level_zero");
  }
  std::unique_ptr<spi::DeviceEvent> do_record(const Stream& stream) override {
    return level_zero_device::record(stream, events_of(stream));
  }
  void do_wait(const Stream& stream, spi::DeviceEvent& event) override {
    append_wait(list_of(stream), static_cast<Event&>(event).pooled());
  }
  std::unique_ptr<spi::DeviceGate> do_hold(const Stream& stream) override {
    check_holdable(stream);
    return level_zero_device::hold(list_of(stream), events_of(stream));
  }

  /// The device, if it has a handle for work. Throws Error{config} otherwise.
  [[nodiscard]] const DeviceEntry& usable(Device device) const;
  /// An engine other than that of `beside`, where there is one. In turn, so that streams wait less for each other.
  [[nodiscard]] Engine choose_engine(const DeviceEntry& device, const CommandList* beside);
  [[nodiscard]] std::unique_ptr<OwnStream> make_stream(const DeviceEntry& device, ze_context_handle_t context,
                                                       const CommandList* beside);
  /// Throws Error{unsupported} if the work that opens a gate would have to queue behind it.
  void check_holdable(const Stream& stream);
  /// The engines of a device, queried once. The reference stays valid.
  [[nodiscard]] const std::vector<Engine>& engines_of(const DeviceEntry& device);
  /// tutti's own context of a driver, for the memory of all its devices.
  [[nodiscard]] ze_context_handle_t context_of(ze_driver_handle_t driver);
  /// The events of a stream's context and device. They live only as long as they are used, because the application may
  /// destroy its context afterwards.
  [[nodiscard]] std::shared_ptr<EventPool> events_of(ze_context_handle_t context, const DeviceEntry& device);
  [[nodiscard]] std::shared_ptr<EventPool> events_of(const Stream& stream) {
    return events_of(list_of(stream).context, usable(stream.device()));
  }
  /// Appends work between barriers; `append` gets the event that the work must signal.
  template <typename Append>
  [[nodiscard]] std::unique_ptr<spi::DeviceEvent> enqueue(const Stream& stream, std::string_view work,
                                                          const Append& append);

  Api api_;
  Devices devices_;
  Memory memory_;
  std::atomic<std::uint32_t> next_alone_ = 0;
  std::atomic<std::uint32_t> next_beside_ = 0;
  std::mutex mutex_;
  std::map<ze_driver_handle_t, ze_context_handle_t> contexts_;
  std::map<std::pair<ze_context_handle_t, ze_device_handle_t>, std::weak_ptr<EventPool>> events_;
  std::map<ze_device_handle_t, std::vector<Engine>> engines_;
  std::map<ze_device_handle_t, std::unique_ptr<OwnStream>> streams_;
};

Device Runtime::do_device_of(void* native_stream) {
  const CommandList& list = *static_cast<CommandList*>(native_stream);
  if (list.list == nullptr || list.context == nullptr || list.device == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                std::string("a Level Zero stream needs a command list, its context and its device; the ") +
                    (list.list == nullptr      ? "list"
                     : list.context == nullptr ? "context"
                                               : "device") +
                    " is missing",
                "level_zero");
  }
  return devices_.find(list.device).number;
}

const DeviceEntry& Runtime::usable(Device device) const {
  const DeviceEntry& entry = devices_.get(device);
  if (entry.handle != nullptr) return entry;
  throw Error(
      ErrorCode::config,
      "only the sub-devices of " + device.name() +
          " can be used: with ZE_FLAT_DEVICE_HIERARCHY=COMBINED this old loader gives no access to the whole card; set "
          "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE or update the loader");
}

ze_context_handle_t Runtime::context_of(ze_driver_handle_t driver) {
  const std::scoped_lock lock(mutex_);
  ze_context_handle_t& context = contexts_[driver];
  if (context == nullptr) {
    ze_context_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    api_.call(api_.context_create, driver, &desc, &context);
  }
  return context;
}

std::shared_ptr<EventPool> Runtime::events_of(ze_context_handle_t context, const DeviceEntry& device) {
  const std::scoped_lock lock(mutex_);
  auto& known = events_[{context, device.handle}];
  std::shared_ptr<EventPool> pool = known.lock();
  if (pool == nullptr) known = pool = std::make_shared<EventPool>(api_, context, device);
  return pool;
}

const std::vector<Engine>& Runtime::engines_of(const DeviceEntry& device) {
  const std::scoped_lock lock(mutex_);
  auto& engines = engines_[device.handle];
  if (engines.empty()) engines = find_engines(api_, device);
  return engines;
}

void Runtime::check_holdable(const Stream& stream) {
  const CommandList& list = list_of(stream);
  const auto& engines = engines_of(usable(stream.device()));
  if (std::ranges::any_of(engines, [&](const Engine& engine) { return !engine.is_of(list); })) return;
  throw Error(
      ErrorCode::unsupported,
      stream.device().name() +
          " has one engine only, that of the stream: tutti's copies would queue behind the operation that waits for "
          "them; pass device memory without a stream instead",
      "level_zero");
}

Engine Runtime::choose_engine(const DeviceEntry& device, const CommandList* beside) {
  auto engines = engines_of(device);
  // A stream made alone is used like an application's stream, whose work needs engines that compute.
  if (beside == nullptr) std::ranges::stable_sort(engines, {}, &Engine::only_copies);
  if (beside != nullptr && engines.size() > 1) {
    std::erase_if(engines, [&](const Engine& engine) { return engine.is_of(*beside); });
  }
  const auto other =
      std::ranges::find_if(engines, [&](const Engine& engine) { return engine.ordinal != engines.front().ordinal; });
  const auto count = static_cast<std::uint32_t>(other - engines.begin());
  if (count == 0) return {};
  return engines[(beside == nullptr ? next_alone_++ : next_beside_++) % count];
}

std::unique_ptr<OwnStream> Runtime::make_stream(const DeviceEntry& device, ze_context_handle_t context,
                                                const CommandList* beside) {
  const Engine engine = choose_engine(device, beside);
  ze_command_queue_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  desc.ordinal = engine.ordinal;
  desc.index = engine.index;
  desc.flags = ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY;
  return std::make_unique<OwnStream>(device, context, desc, events_of(context, device));
}

const Stream& Runtime::do_stream(Device device) {
  const DeviceEntry& entry = usable(device);
  const ze_context_handle_t context = context_of(entry.driver);
  auto made = std::unique_ptr<OwnStream>();
  {
    const std::scoped_lock lock(mutex_);
    const auto known = streams_.find(entry.handle);
    if (known != streams_.end()) return known->second->stream();
  }
  made = make_stream(entry, context, nullptr);
  const std::scoped_lock lock(mutex_);
  return streams_.try_emplace(entry.handle, std::move(made)).first->second->stream();
}

spi::PointerInfo Runtime::do_locate(const Stream& stream, const void* pointer) {
  std::vector<ze_context_handle_t> others;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [driver, context] : contexts_) {
      if (context != list_of(stream).context) others.push_back(context);
    }
  }
  return memory_.locate(stream, pointer, others);
}

template <typename Append>
std::unique_ptr<spi::DeviceEvent> Runtime::enqueue(const Stream& stream, std::string_view work, const Append& append) {
  const CommandList& list = list_of(stream);
  auto event = std::make_unique<Event>(stream.device(), work, events_of(stream));
  append_barrier(api_, list);
  append(list.list, event->pooled().handle());
  event->pooled().slot().is_enqueued = true;
  append_barrier(api_, list);
  return event;
}

std::unique_ptr<spi::DeviceEvent> Runtime::do_copy(const Stream& stream, void* to, const void* from,
                                                   std::size_t bytes) {
  return enqueue(stream, "copy", [&](ze_command_list_handle_t list, ze_event_handle_t event) {
    api_.call(api_.list_append_copy, list, to, from, bytes, event, 0U, nullptr);
  });
}

std::unique_ptr<spi::DeviceEvent> Runtime::do_fill(const Stream& stream, void* to, std::byte value, std::size_t bytes) {
  return enqueue(stream, "fill", [&](ze_command_list_handle_t list, ze_event_handle_t event) {
    api_.call(api_.list_append_fill, list, to, &value, sizeof(value), bytes, event, 0U, nullptr);
  });
}

}  // namespace

std::unique_ptr<spi::DeviceRuntime> make_runtime(Api api, std::uint16_t module) {
  return std::make_unique<Runtime>(std::move(api), module);
}

}  // namespace tutti::level_zero_device
