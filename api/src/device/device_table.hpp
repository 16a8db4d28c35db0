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

/// The device modules of this process by number (0 is the host) and the runtimes of the modules in use. Runtimes are
/// never closed: a stream or an allocation may be used until the process ends.
class DeviceTable {
 public:
  static DeviceTable& instance();

  /// The number of a module; 0 if there is none of that name.
  [[nodiscard]] std::uint16_t number_of(std::string_view name, const Config& config = {});
  /// The name of module `number`; empty if there is none.
  [[nodiscard]] std::string name_of(std::uint16_t number);
  /// Names of all modules, "host, ...", for messages.
  [[nodiscard]] std::string names(const Config& config = {});
  /// The runtime of a module; opens it if necessary. Throws Error{backend_unavailable} with the reason if it is not
  /// usable.
  [[nodiscard]] spi::DeviceRuntime& runtime(std::uint16_t number) {
    spi::DeviceRuntime* const known = opened(number);
    return known != nullptr ? *known : open(number, {});
  }
  [[nodiscard]] spi::DeviceRuntime& open(std::uint16_t number, const Config& config);

 private:
  DeviceTable();
  using Modules = std::vector<const Registered<spi::DeviceModule>*>;
  [[nodiscard]] static Modules modules(const Config& config) { return DeviceRegistry::instance().modules(config); }

  /// Null if the runtime is not open. Takes no lock, because every device operation calls it.
  [[nodiscard]] spi::DeviceRuntime* opened(std::uint16_t number) const noexcept {
    return number < open_.size() ? open_[number].load(std::memory_order_acquire) : nullptr;
  }

  std::mutex mutex_;
  std::array<std::atomic<spi::DeviceRuntime*>, 32> open_ = {};
};

}  // namespace tutti
