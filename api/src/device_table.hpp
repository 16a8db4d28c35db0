#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "registry.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/device_module.hpp"

namespace tutti {

/// The device modules of this process by number, and the runtimes of those that are in use. Runtimes are never closed:
/// a stream or an allocation may be used until the process ends.
class DeviceTable {
 public:
  static DeviceTable& instance();

  /// The number of a module; 0 when there is none of that name.
  [[nodiscard]] std::uint16_t number_of(std::string_view name, const Config& config = {});
  /// The name of module `number`; empty when there is none.
  [[nodiscard]] std::string name_of(std::uint16_t number);
  /// "host, sycl": for messages.
  [[nodiscard]] std::string names(const Config& config = {});
  /// Opens it if it is not. Throws Error{backend_unavailable} with the reason when it is not usable.
  [[nodiscard]] spi::DeviceRuntime& runtime(std::uint16_t number, const Config& config = {});

 private:
  using Modules = std::vector<const Registered<spi::DeviceModule>*>;
  [[nodiscard]] static Modules modules(const Config& config) { return DeviceRegistry::instance().modules(config); }

  std::mutex mutex_;
  std::map<std::uint16_t, std::unique_ptr<spi::DeviceRuntime>> open_;
};

}  // namespace tutti
