#include "support/devices/device_support.hpp"

namespace tutti::test {

std::string why_no_device(std::string_view module) {
  for (const DeviceModuleInfo& info : device_modules()) {
    if (info.name == module) return info.usable ? std::string() : info.reason;
  }
  return "it was not built";
}

std::vector<Device> rank_devices(std::string_view module) {
  const Device root = Device::parse(std::string(module) + ":0");
  std::vector<Device> roots;
  std::vector<Device> parts;
  for (const DeviceInfo& info : spi::device_runtime(root).devices()) {
    if (info.device.sub_device() < 0) roots.push_back(info.device);
    if (info.device.index() == root.index() && info.device.sub_device() >= 0) parts.push_back(info.device);
  }
  return parts.empty() ? roots : parts;
}

void OnFirstDevice::use_first_device(std::string_view module) {
  devices_ = rank_devices(module);
  runtime_ = &spi::device_runtime(devices_[0]);
  stream_ = runtime_->stream(devices_[0]);
}

DeviceArray::DeviceArray(const Stream& stream, MemoryKind kind, std::size_t bytes)
    : stream_(stream),
      kind_(kind),
      size_(bytes),
      data_(spi::device_runtime(stream.device()).allocate(stream, kind, bytes, "test")) {}

DeviceArray::~DeviceArray() { spi::device_runtime(stream_.device()).release(stream_, data_, kind_, size_, "test"); }

void DeviceArray::write(const void* from, std::size_t bytes) const {
  const Buffer to(data_, bytes, DataType::uint8, where());
  spi::device_runtime(stream_.device()).copy(stream_, to, ConstBuffer(from, bytes, DataType::uint8))->wait();
}

void DeviceArray::read(void* to, std::size_t bytes) const {
  const ConstBuffer from(data_, bytes, DataType::uint8, where());
  spi::device_runtime(stream_.device()).copy(stream_, Buffer(to, bytes, DataType::uint8), from)->wait();
}

}  // namespace tutti::test
