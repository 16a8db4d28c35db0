#include "sweep_device.hpp"

#include "text.hpp"
#include "tutti/device.hpp"
#include "tutti/device_info.hpp"

namespace tutti::tools {

Config place_on(const std::string& device) {
  Config config;
  config.set("TUTTI_DEVICE", device, "--device");
  if (device == "auto") {
    (void)device_modules(config);
    return config;
  }
  const std::vector<std::string> words = split(device, ',');
  for (const std::string& word : words) (void)Device::parse(word);
  if (words.empty()) (void)Device::parse(device);
  return config;
}

void DeviceTimes::on(const DeviceInterval& record) noexcept {
  ++calls_;
  nanoseconds_ += record.end_ns - record.begin_ns;
}

void DeviceTimes::on(const Traffic& record) noexcept {
  if (record.from.kind != record.to.kind) was_staged_ = true;
}

}  // namespace tutti::tools
