#include <algorithm>
#include <array>

#include "level_zero_devices.hpp"
#include "level_zero_runtime.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/device_module.hpp"

namespace tutti::level_zero_device {
namespace {

spi::DeviceProbe probe(const Config& config) {
  spi::DeviceProbe result;
  try {
    const Api api = open_loader(config.text("TUTTI_LEVEL_ZERO_LIBRARY"));
    result.version = api.loader_version();
    const Devices devices(api, 0);
    const auto count =
        std::ranges::count_if(devices.all(), [](const DeviceEntry& entry) { return entry.number.sub_device() < 0; });
    result.usable = true;
    result.reason = std::to_string(count) + (count == 1 ? " device" : " devices") + ", with loader " + result.version;
  } catch (const std::exception& error) {
    result.reason = error.what();
  }
  return result;
}

std::unique_ptr<spi::DeviceRuntime> open(const spi::DeviceContext& context) {
  return make_runtime(open_loader(context.config.text("TUTTI_LEVEL_ZERO_LIBRARY")), context.module);
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_LEVEL_ZERO_LIBRARY",
            .default_value = "",
            .help = "File of the Level Zero loader to use; unset: the libze_loader.so.1 that the system finds."},
};

constexpr spi::DeviceModule kModule = {
    .name = "level_zero",
    .variant = {},
    .description = "Level Zero: GPUs with their tiles",
    .settings = kSettings,
    .probe = probe,
    .open = open,
};

}  // namespace
}  // namespace tutti::level_zero_device

extern "C" TUTTI_API const tutti::spi::DeviceModule* tutti_device_module() {
  return &tutti::level_zero_device::kModule;
}
