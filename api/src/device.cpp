#include "tutti/device.hpp"

#include "tutti/error.hpp"

namespace tutti {

std::string_view name(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::host:
      return "host";
    case MemoryKind::device:
      return "device";
    case MemoryKind::shared:
      break;
  }
  return "shared";
}

Device Device::parse(std::string_view text) {
  if (text == "host") return {};
  throw Error(ErrorCode::config, "there is no device '" + std::string(text) + "'; there are: host");
}

std::string Device::name() const {
  if (is_host()) return "host";
  std::string text = "device module " + std::to_string(module_) + ":" + std::to_string(index_);
  if (sub_device() >= 0) text += "." + std::to_string(sub_device());
  return text;
}

}  // namespace tutti
