#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "level_zero_api.hpp"
#include "tutti/info/device_info.hpp"

namespace tutti::level_zero_device {

/// A device or sub-device that the drivers show.
struct DeviceEntry {
  Device number;
  ze_driver_handle_t driver = nullptr;
  /// Null for a card of which only the tiles can be used.
  ze_device_handle_t handle = nullptr;
  ze_device_properties_t properties = {};
  std::string address;  ///< on the PCI bus; "" when it is not known
};

/// The devices that tutti uses, by number: level_zero:CARD.TILE, in every hierarchy that the drivers may show.
class Devices {
 public:
  /// Enumerates the devices. Throws Error{backend_unavailable} when there is none.
  Devices(const Api& api, std::uint16_t module);

  [[nodiscard]] std::vector<DeviceInfo> info() const;
  [[nodiscard]] std::vector<DeviceLink> links() const;
  /// Throws Error{config} if there is no such device. The reference stays valid.
  [[nodiscard]] const DeviceEntry& get(Device device) const;
  /// The device of a handle. Throws Error{invalid_argument} when there is none.
  [[nodiscard]] const DeviceEntry& find(ze_device_handle_t handle) const;
  /// All devices in the order of the cards; a card's tiles follow the card.
  [[nodiscard]] const std::deque<DeviceEntry>& all() const noexcept { return entries_; }

 private:
  void add_driver(ze_driver_handle_t driver, bool tiles_know_cards);
  void add_composite(ze_driver_handle_t driver, ze_device_handle_t card);
  void add_tile_of_card(ze_driver_handle_t driver, ze_device_handle_t tile, ze_device_handle_t card);
  [[nodiscard]] DeviceEntry describe(ze_driver_handle_t driver, ze_device_handle_t handle, Device number) const;
  [[nodiscard]] DeviceInfo info_of(const DeviceEntry& entry) const;
  [[nodiscard]] int parts_of(int index) const;
  [[nodiscard]] int count() const;

  const Api& api_;
  std::uint16_t module_;
  std::deque<DeviceEntry> entries_;
};

/// As the system writes it: "0000:3a:00.0".
[[nodiscard]] std::string pci_text(const ze_pci_address_ext_t& address);

/// Whether two devices are on one card.
[[nodiscard]] bool share_card(const DeviceEntry& a, const DeviceEntry& b);

/// An end of a link, with the handles whose links the driver knows: the tiles of a card, or the device itself.
struct Endpoint {
  const DeviceEntry& entry;
  std::vector<ze_device_handle_t> vertices;
};

/// The link by which `from` reaches `to` without the host, if any. The kind is peer where the driver says only that
/// there is one.
[[nodiscard]] std::optional<DeviceLink> find_link(const Api& api, const Endpoint& from, const Endpoint& to);

/// Free memory in bytes, from the driver's system management, which lists the memory of all tiles of a card; 0 when it
/// is not known. The device's properties do not show `is_whole_card`: drivers that show tiles as devices do not mark
/// them as sub-devices.
[[nodiscard]] std::uint64_t free_memory(const Api& api, const DeviceEntry& entry, bool is_whole_card);

}  // namespace tutti::level_zero_device
