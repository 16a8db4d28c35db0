#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "select/registry.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/device_module.hpp"

namespace tutti {

/// The device modules of this process by number, the host being 0, and the runtimes of those that are in use. Runtimes
/// are never closed: a stream or an allocation may be used until the process ends.
class DeviceTable {
 public:
  static DeviceTable& instance();

  /// The number of a module; 0 when there is none of that name.
  [[nodiscard]] std::uint16_t number_of(std::string_view name, const Config& config = {});
  /// The name of module `number`; empty when there is none.
  [[nodiscard]] std::string name_of(std::uint16_t number);
  /// All of them, "host, ...": for messages.
  [[nodiscard]] std::string names(const Config& config = {});
  /// Opens it if it is not. Throws Error{backend_unavailable} with the reason when it is not usable.
  [[nodiscard]] spi::DeviceRuntime& runtime(std::uint16_t number) {
    spi::DeviceRuntime* const known = opened(number);
    return known != nullptr ? *known : open(number, {});
  }
  [[nodiscard]] spi::DeviceRuntime& open(std::uint16_t number, const Config& config);

 private:
  DeviceTable();
  using Modules = std::vector<const Registered<spi::DeviceModule>*>;
  [[nodiscard]] static Modules modules(const Config& config) { return DeviceRegistry::instance().modules(config); }

  /// Null when it is not open; without a lock, since every operation on a device asks.
  [[nodiscard]] spi::DeviceRuntime* opened(std::uint16_t number) const noexcept {
    return number < open_.size() ? open_[number].load(std::memory_order_acquire) : nullptr;
  }

  std::mutex mutex_;
  std::array<std::atomic<spi::DeviceRuntime*>, 32> open_ = {};
};

}  // namespace tutti
