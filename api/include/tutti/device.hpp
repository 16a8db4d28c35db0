#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/export.hpp"

namespace tutti {

/// Kind of memory: which processor can access it with loads and stores.
enum class MemoryKind : std::uint8_t {
  host,    ///< ordinary or pinned memory of the process
  device,  ///< accessible to one device only
  shared,  ///< migrates between host and device
};

/// Name of a kind: "host", "device", "shared".
[[nodiscard]] TUTTI_API std::string_view name(MemoryKind kind) noexcept;

/// Names the host, or a device or sub-device of a device module. A small value that owns nothing.
class TUTTI_API Device {
 public:
  /// The host.
  constexpr Device() noexcept = default;
  constexpr Device(std::uint16_t module, std::int16_t index, std::int16_t sub_device = -1) noexcept
      : module_(module), index_(index), sub_device_(static_cast<std::int16_t>(sub_device + 1)) {}

  /// Parses "host", "MODULE:INDEX" or "MODULE:INDEX.SUB"; starts the module's runtime. Throws Error{config} with the
  /// list of existing devices if there is no such device, Error{backend_unavailable} if the module is not usable.
  [[nodiscard]] static Device parse(std::string_view text);

  [[nodiscard]] constexpr bool is_host() const noexcept { return module_ == 0; }
  /// Number of the device module in this process; 0 is the host.
  [[nodiscard]] constexpr std::uint16_t module() const noexcept { return module_; }
  [[nodiscard]] constexpr int index() const noexcept { return index_; }
  /// -1 for the whole device.
  [[nodiscard]] constexpr int sub_device() const noexcept { return sub_device_ - 1; }
  /// The spelling that parse() accepts.
  [[nodiscard]] std::string name() const;

  friend constexpr bool operator==(const Device&, const Device&) noexcept = default;

 private:
  std::uint16_t module_ = 0;
  std::int16_t index_ = 0;
  std::int16_t sub_device_ = 0;  // plus one, so that the host is all zeros
};

/// Location of a buffer.
struct Memory {
  Device device = {};
  MemoryKind kind = MemoryKind::host;

  friend constexpr bool operator==(const Memory&, const Memory&) noexcept = default;
};

}  // namespace tutti
