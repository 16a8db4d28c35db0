#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/info/device_info.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::test {

/// Reason why a device module cannot be tested here; empty when it can.
[[nodiscard]] std::string why_no_device(std::string_view module);

/// The module's devices for the ranks of a test: the sub-devices of the first device, or all devices if it has none.
[[nodiscard]] std::vector<Device> rank_devices(std::string_view module);

/// Part of a fixture: the devices for the ranks of a test, and the runtime and a stream of the first device.
class OnFirstDevice {
 protected:
  void use_first_device(std::string_view module);

  std::vector<Device> devices_;
  spi::DeviceRuntime* runtime_ = nullptr;
  Stream stream_;
};

/// Device memory of a stream; the device copies data into it and out of it.
class DeviceArray {
 public:
  DeviceArray(const Stream& stream, MemoryKind kind, std::size_t bytes);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] Memory where() const noexcept { return {stream_.device(), kind_}; }
  [[nodiscard]] Buffer bytes() const noexcept { return {data_, size_, DataType::uint8, where()}; }
  /// Blocking.
  void write(const void* from, std::size_t bytes) const;
  void read(void* to, std::size_t bytes) const;

 private:
  Stream stream_;
  MemoryKind kind_;
  std::size_t size_;
  void* data_;
};

}  // namespace tutti::test
