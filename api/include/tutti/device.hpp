#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/export.hpp"

namespace tutti {

/// Whose loads and stores reach a piece of memory.
enum class MemoryKind : std::uint8_t {
  host,    ///< ordinary or pinned memory of the process
  device,  ///< reachable from one device only
  shared,  ///< migrates between host and device
};

/// The one spelling of a kind: "host", "device", "shared".
[[nodiscard]] TUTTI_API std::string_view name(MemoryKind kind) noexcept;

/// A place that computes and holds memory: the host, or a device or sub-device of a device module. A small value; it
/// names the device and owns nothing.
class TUTTI_API Device {
 public:
  /// The host.
  constexpr Device() noexcept = default;
  constexpr Device(std::uint16_t module, std::int16_t index, std::int16_t sub_device = -1) noexcept
      : module_(module), index_(index), sub_device_(static_cast<std::int16_t>(sub_device + 1)) {}

  /// "host", or "MODULE:INDEX" or "MODULE:INDEX.SUB" of a device module that is loaded. Throws Error{config} that lists
  /// what is there when the name means nothing here.
  [[nodiscard]] static Device parse(std::string_view text);

  [[nodiscard]] constexpr bool is_host() const noexcept { return module_ == 0; }
  /// Number of the device module in this process; 0 is the host.
  [[nodiscard]] constexpr std::uint16_t module() const noexcept { return module_; }
  [[nodiscard]] constexpr int index() const noexcept { return index_; }
  /// -1 when the whole device is meant.
  [[nodiscard]] constexpr int sub_device() const noexcept { return sub_device_ - 1; }
  /// The spelling that parse() accepts.
  [[nodiscard]] std::string name() const;

  friend constexpr bool operator==(const Device&, const Device&) noexcept = default;

 private:
  std::uint16_t module_ = 0;
  std::int16_t index_ = 0;
  std::int16_t sub_device_ = 0;  // plus one, so that the host is all zeros
};

/// Where a buffer lives.
struct Memory {
  Device device = {};
  MemoryKind kind = MemoryKind::host;

  friend constexpr bool operator==(const Memory&, const Memory&) noexcept = default;
};

}  // namespace tutti
