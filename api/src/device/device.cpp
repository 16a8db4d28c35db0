#include "tutti/device.hpp"

#include <algorithm>
#include <charconv>

#include "device/device_table.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti {

namespace {

/// The text as a number below INT16_MAX; -1 if it is not one.
int number(std::string_view text) noexcept {
  int value = -1;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && last == end && value >= 0 && value < INT16_MAX ? value : -1;
}

[[noreturn]] void fail(std::string_view text, const std::string& there_are) {
  throw Error(ErrorCode::config, "there is no device '" + spi::printable(text) + "'; there are: " + there_are);
}

}  // namespace

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
  DeviceTable& table = DeviceTable::instance();
  const std::size_t colon = text.find(':');
  const std::uint16_t module = table.number_of(text.substr(0, colon));
  if (module == 0) fail(text, table.names() + " (write MODULE:INDEX or MODULE:INDEX.SUB)");

  const std::string_view place = colon == std::string_view::npos ? std::string_view("0") : text.substr(colon + 1);
  const std::size_t dot = place.find('.');
  const int index = number(place.substr(0, dot));
  const int sub = dot == std::string_view::npos ? -1 : number(place.substr(dot + 1));
  const std::vector<DeviceInfo> known = table.runtime(module).devices();
  const Device wanted(module, static_cast<std::int16_t>(index), static_cast<std::int16_t>(sub));
  const bool is_written_right = index >= 0 && (dot == std::string_view::npos || sub >= 0);
  const auto is_wanted = [&](const DeviceInfo& info) { return info.device == wanted; };
  if (!is_written_right || std::ranges::none_of(known, is_wanted)) {
    std::string there_are = "host";
    for (const DeviceInfo& info : known) there_are += ", " + info.device.name();
    fail(text, there_are);
  }
  return wanted;
}

std::string Device::name() const {
  if (is_host()) return "host";
  const std::string module = DeviceTable::instance().name_of(module_);
  std::string text = (module.empty() ? "device module " + std::to_string(module_) : module) + ":";
  text += std::to_string(index_);
  if (sub_device() >= 0) text += "." + std::to_string(sub_device());
  return text;
}

}  // namespace tutti
