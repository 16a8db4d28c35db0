// Cards and tiles, and the part of them that the environment variables show to a program.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "driver.hpp"

namespace fake_level_zero {

namespace {

constexpr int kTiles = 2;
constexpr std::uint64_t kTileBytes = std::uint64_t{1} << 30;

enum class Hierarchy { composite, flat, combined };

/// A device of zeDeviceGet() and its sub-devices of zeDeviceGetSubDevices().
struct Root {
  Device* device;
  std::vector<Device*> parts;
};

struct Machine {
  Hierarchy hierarchy = Hierarchy::composite;
  std::deque<Device> cards;
  std::deque<Device> tiles;
  std::vector<Root> roots;

  [[nodiscard]] Device* tile(std::size_t card, std::size_t tile) { return &tiles[card * kTiles + tile]; }
};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT: drivers read the environment
  return value == nullptr ? std::string_view() : value;
}

int setting(const char* name, int otherwise) {
  const std::string_view text = variable(name);
  return text.empty() ? otherwise : std::clamp(std::atoi(text.data()), 0, 8);
}

Hierarchy hierarchy() {
  const std::string_view text = variable("ZE_FLAT_DEVICE_HIERARCHY");
  if (text == "FLAT") return Hierarchy::flat;
  return text == "COMBINED" ? Hierarchy::combined : Hierarchy::composite;
}

/// Whether the mask, a list like "0,1.1", names a device or, with `part`, its sub-device. An empty mask names all.
bool is_named(std::string_view mask, std::size_t device, std::ptrdiff_t part) {
  if (mask.empty()) return true;
  const std::string whole = std::to_string(device);
  const std::string exact = part < 0 ? whole : whole + "." + std::to_string(part);
  while (!mask.empty()) {
    const std::string_view entry = mask.substr(0, mask.find(','));
    mask.remove_prefix(std::min(mask.size(), entry.size() + 1));
    if (entry == whole || entry == exact) return true;
  }
  return false;
}

void expose_tiles(Machine& machine, std::string_view mask) {
  for (std::size_t i = 0; i < machine.tiles.size(); ++i) {
    if (is_named(mask, i, -1)) machine.roots.push_back({&machine.tiles[i], {}});
  }
}

void expose_cards(Machine& machine, std::string_view mask) {
  for (std::size_t card = 0; card < machine.cards.size(); ++card) {
    std::vector<Device*> parts;
    for (std::size_t tile = 0; tile < kTiles; ++tile) {
      if (is_named(mask, card, static_cast<std::ptrdiff_t>(tile))) parts.push_back(machine.tile(card, tile));
    }
    // A single visible tile is a device without its card.
    if (parts.size() == 1) machine.roots.push_back({parts[0], {}});
    if (parts.size() > 1) machine.roots.push_back({&machine.cards[card], parts});
  }
}

Machine& machine() {
  static Machine* instance = [] {
    auto* made = new Machine;
    made->hierarchy = hierarchy();
    for (int card = 0; card < setting("FAKE_LEVEL_ZERO_CARDS", 1); ++card) {
      made->cards.emplace_back().card = card;
      for (int tile = 0; tile < kTiles; ++tile) {
        Device& device = made->tiles.emplace_back();
        device.card = card;
        device.tile = tile;
      }
    }
    const std::string_view mask = variable("ZE_AFFINITY_MASK");
    if (made->hierarchy == Hierarchy::composite)
      expose_cards(*made, mask);
    else
      expose_tiles(*made, mask);
    return made;
  }();
  return *instance;
}

/// Returns the number of devices, or as many handles as asked for, as Level Zero does.
template <typename Handle>
ze_result_t give(const std::vector<Device*>& devices, std::uint32_t* count, Handle* handles) {
  if (count == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto there = static_cast<std::uint32_t>(devices.size());
  if (*count == 0 || *count > there) *count = there;
  if (handles == nullptr) return ZE_RESULT_SUCCESS;
  for (std::uint32_t i = 0; i < *count; ++i) handles[i] = reinterpret_cast<Handle>(devices[i]);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

bool is_visible(const Device* device) {
  return std::ranges::any_of(machine().roots, [&](const Root& root) {
    return root.device == device || std::ranges::find(root.parts, device) != root.parts.end();
  });
}

Device* find_device(ze_device_handle_t handle, const std::string& function) {
  auto* device = reinterpret_cast<Device*>(handle);
  if (is_visible(device)) return device;
  (void)unknown_handle(function, "device");
  return nullptr;
}

bool can_access(const Device& from, const Device& owner) {
  if (from.card == owner.card) return true;
  // The fabric connects tiles with the same number.
  return from.tile >= 0 && from.tile == owner.tile;
}

std::uint64_t host_nanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t device_ticks() {
  static const std::uint64_t start = host_nanoseconds();
  // The 32 bits of kernel timestamps overflow a tenth of a second after the first call.
  constexpr std::uint64_t kFirst = (std::uint64_t{5} << kKernelTimestampBits) - kTicksPerSecond / 10;
  __extension__ using Wide = unsigned __int128;
  return kFirst + static_cast<std::uint64_t>(Wide{host_nanoseconds() - start} * kTicksPerSecond / 1'000'000'000);
}

ze_result_t device_get(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t* handles) {
  std::vector<Device*> devices;
  for (const Root& root : machine().roots) devices.push_back(root.device);
  return give(devices, count, handles);
}

ze_result_t device_get_sub_devices(ze_device_handle_t handle, std::uint32_t* count, ze_device_handle_t* handles) {
  const Device* device = find_device(handle, "zeDeviceGetSubDevices");
  if (device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  for (const Root& root : machine().roots) {
    if (root.device == device) return give(root.parts, count, handles);
  }
  return give(std::vector<Device*>{}, count, handles);
}

ze_result_t device_get_properties(ze_device_handle_t handle, ze_device_properties_t* properties) {
  const Device* device = find_device(handle, "zeDeviceGetProperties");
  if (device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (properties == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const bool counts_cycles = properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  const auto stype = properties->stype;
  void* const next = properties->pNext;
  *properties = {};
  properties->stype = stype;
  properties->pNext = next;
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->vendorId = 0x8086;
  properties->deviceId = 0xfa4e;
  if (device->tile >= 0) {
    // In FLAT mode, tiles are devices, not sub-devices.
    if (machine().hierarchy != Hierarchy::flat) properties->flags = ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
    properties->subdeviceId = static_cast<std::uint32_t>(device->tile);
  }
  properties->maxMemAllocSize = kTileBytes;
  properties->numThreadsPerEU = 8;
  properties->physicalEUSimdWidth = 16;
  properties->numEUsPerSubslice = 8;
  properties->numSubslicesPerSlice = 4;
  properties->numSlices = device->tile < 0 ? kTiles : 1;
  properties->timerResolution = counts_cycles ? kTicksPerSecond : 1'000'000'000 / kTicksPerSecond;
  properties->timestampValidBits = 64;
  properties->kernelTimestampValidBits = kKernelTimestampBits;
  const std::string uuid = "fake" + std::to_string(device->card) + "/" + std::to_string(device->tile);
  std::memcpy(properties->uuid.id, uuid.data(), std::min(uuid.size(), sizeof(properties->uuid.id)));
  std::strncpy(properties->name, "fake Level Zero GPU", sizeof(properties->name) - 1);
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_memory_properties(ze_device_handle_t handle, std::uint32_t* count,
                                         ze_device_memory_properties_t* properties) {
  const Device* device = find_device(handle, "zeDeviceGetMemoryProperties");
  if (device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  *count = 1;
  if (properties != nullptr) {
    properties->totalSize = device->tile < 0 ? kTiles * kTileBytes : kTileBytes;
    std::strncpy(properties->name, "fake HBM", sizeof(properties->name) - 1);
  }
  return ZE_RESULT_SUCCESS;
}

std::uint32_t queue_groups() {
  static const std::uint32_t groups = setting("FAKE_LEVEL_ZERO_COPY_GROUP", 1) != 0 ? 2 : 1;
  return groups;
}

std::uint32_t queues_per_group() {
  static const auto queues = static_cast<std::uint32_t>(setting("FAKE_LEVEL_ZERO_QUEUES", 2));
  return queues;
}

ze_result_t device_get_queue_groups(ze_device_handle_t handle, std::uint32_t* count,
                                    ze_command_queue_group_properties_t* properties) {
  if (find_device(handle, "zeDeviceGetCommandQueueGroupProperties") == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  const std::uint32_t wanted = properties == nullptr ? 0 : std::min(*count, queue_groups());
  *count = queue_groups();
  for (std::uint32_t i = 0; i < wanted; ++i) {
    properties[i].flags = i == 0
                              ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
                              : ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    properties[i].maxMemoryFillPatternSize = 16;
    properties[i].numQueues = queues_per_group();
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_timestamps(ze_device_handle_t handle, std::uint64_t* host, std::uint64_t* device) {
  if (find_device(handle, "zeDeviceGetGlobalTimestamps") == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  *host = host_nanoseconds();
  *device = device_ticks();
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_pci(ze_device_handle_t handle, ze_pci_ext_properties_t* properties) {
  const Device* device = find_device(handle, "zeDevicePciGetPropertiesExt");
  if (device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  // A PCI domain that no machine has.
  properties->address = {
      .domain = 0xfa4e, .bus = static_cast<std::uint32_t>(device->card + 1), .device = 0, .function = 0};
  properties->maxSpeed = {.genVersion = 5, .width = 16, .maxBandwidth = 63'000'000'000};
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_can_access_peer(ze_device_handle_t handle, ze_device_handle_t peer, ze_bool_t* value) {
  const Device* device = find_device(handle, "zeDeviceCanAccessPeer");
  const Device* other = find_device(peer, "zeDeviceCanAccessPeer");
  if (device == nullptr || other == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  *value = can_access(*device, *other) ? 1 : 0;
  return ZE_RESULT_SUCCESS;
}

std::vector<Device*> visible_tiles() {
  std::vector<Device*> found;
  for (Device& tile : machine().tiles) {
    if (is_visible(&tile)) found.push_back(&tile);
  }
  return found;
}

std::uint64_t memory_of(const Device& device) { return device.tile < 0 ? kTiles * kTileBytes : kTileBytes; }

std::vector<Device*> tiles_of_card(const Device& device) {
  std::vector<Device*> found;
  for (Device& tile : machine().tiles) {
    if (tile.card == device.card) found.push_back(&tile);
  }
  return found;
}

}  // namespace fake_level_zero
