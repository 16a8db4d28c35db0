#include "runtime_devices.hpp"

#include <array>
#include <cstring>
#include <functional>
#include <string_view>

#include "runtime_functions.hpp"
#include "sources/common/device_identity.hpp"

namespace tutti::profiling {

namespace {

/// Two clocks drift apart by some microseconds in this time.
constexpr std::uint64_t kOffsetLifetimeNs = 100'000'000;

struct Identity {
  unsigned char uuid[16];
  bool operator==(const Identity& other) const noexcept { return std::memcmp(uuid, other.uuid, sizeof uuid) == 0; }
};

std::array<char, 256> name_of(ur::Device device) noexcept {
  std::array<char, 256> name{};
  const auto& functions = runtime_functions();
  if (functions.device_get_info == nullptr ||
      functions.device_get_info(device, ur::kDeviceName, name.size() - 1, name.data(), nullptr) != ur::kSuccess)
    name = {"device"};
  return name;
}

/// A device without UUID gets one from its name: equal in all processes of the host.
Identity identity_of(ur::Device device) noexcept {
  Identity identity{};
  const auto& functions = runtime_functions();
  if (functions.device_get_info != nullptr &&
      functions.device_get_info(device, ur::kDeviceUuid, sizeof identity.uuid, identity.uuid, nullptr) == ur::kSuccess)
    return identity;
  const auto name = name_of(device);
  const std::size_t hash = std::hash<std::string_view>{}(name.data());
  std::memcpy(identity.uuid, &hash, sizeof hash);
  return identity;
}

}  // namespace

void RuntimeDevices::add_sub_devices(ur::Device parent, const ur::Device* devices, std::uint32_t count) noexcept {
  for (std::uint32_t i = 0; i < count; ++i) {
    sub_devices_.set(devices[i], {parent, i + 1});
    ids_.remove(devices[i]);  // of an earlier device with this handle
  }
}

DeviceId RuntimeDevices::id_of(ur::Device device) noexcept {
  if (device == nullptr) return 0;
  if (const auto known = ids_.get(device)) return *known;
  const OwnCall own;
  const DeviceId id = describe(device);
  ids_.set(device, id);
  return id;
}

DeviceId RuntimeDevices::describe(ur::Device device) noexcept {
  ur::Device root = device;
  std::uint64_t number = 0;  // tells apart the sub-devices of all levels
  // A partition of a partition: the numbers of all levels are digits of one.
  while (const auto sub = sub_devices_.get(root)) {
    if (sub->parent == root || number > UINT32_MAX) break;
    number = number * 1000 + sub->number;
    root = sub->parent;
  }
  const auto name = name_of(device);
  const Identity whole = identity_of(root);
  DeviceFacts facts{.name = name.data(), .device = device_identity(whole.uuid)};
  if (number != 0) {
    const Identity own = identity_of(device);
    facts.sub_device = own == whole ? device_identity(own.uuid, number) : device_identity(own.uuid);
  }
  return add_device(facts);
}

std::int64_t RuntimeDevices::clock_offset(ur::Device device) noexcept {
  const std::uint64_t now = now_ns();
  if (const auto known = offsets_.get(device); known && now - known->measured_at < kOffsetLifetimeNs)
    return known->nanoseconds;
  const auto& functions = runtime_functions();
  if (functions.device_get_global_timestamps == nullptr) return 0;
  const OwnCall own;
  std::uint64_t device_time = 0;
  std::uint64_t host_time = 0;
  const std::uint64_t before = now_ns();
  if (functions.device_get_global_timestamps(device, &device_time, &host_time) != ur::kSuccess || device_time == 0)
    return 0;
  const std::uint64_t after = now_ns();
  const Offset offset{static_cast<std::int64_t>(before + (after - before) / 2 - device_time), after};
  offsets_.set(device, offset);
  return offset.nanoseconds;
}

}  // namespace tutti::profiling
