#include "diagnose/device_usage.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "text/text.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::tools {
namespace {

/// More lines than any driver writes; the file may be of a driver that does not end.
constexpr int kMostLines = 500;

/// A client of a driver, as one descriptor shows it.
struct Client {
  std::string device;
  std::string driver;
  std::string id;
  /// By memory region ("vram0"); resident memory, or without that number all that the client has asked for.
  std::map<std::string, std::uint64_t> resident;
  std::map<std::string, std::uint64_t> total;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// "1024 KiB", "17 MiB" or "5": bytes.
std::optional<std::uint64_t> parse_amount(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(static_cast<std::size_t>(rest - text.data())));
  using Unit = std::pair<std::string_view, unsigned>;
  constexpr std::array<Unit, 4> kUnits = {Unit{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  const auto known = std::ranges::find(kUnits, unit, &Unit::first);
  if (known == kUnits.end() || number > UINT64_MAX >> known->second) return std::nullopt;
  return number << known->second;
}

/// Memory on the device, not system memory that it maps: "vram" (amdgpu), "vram0" (xe), "local0" (i915).
bool is_on_device(std::string_view region) { return region.starts_with("vram") || region.starts_with("local"); }

void read_line(std::string_view line, Client& client) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view key = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (key == "drm-pdev") client.device = spi::printable(value, 40);
  if (key == "drm-driver") client.driver = spi::printable(value, 40);
  if (key == "drm-client-id") client.id = value;
  for (const auto& [prefix, target] : {std::pair{std::string_view("drm-resident-"), &client.resident},
                                       {"drm-total-", &client.total},
                                       {"drm-memory-", &client.resident}}) {
    if (!key.starts_with(prefix)) continue;
    const std::string region(key.substr(prefix.size()));
    const auto bytes = parse_amount(value);
    // amdgpu writes the same number by its old name, too.
    if (bytes && is_on_device(region)) target->try_emplace(region, *bytes);
  }
}

Client read_client(const std::filesystem::path& path) {
  std::ifstream file(path);
  Client client;
  std::string line;
  for (int number = 0; number < kMostLines && std::getline(file, line); ++number) read_line(line, client);
  return client;
}

std::uint64_t bytes_of(const Client& client) {
  std::map<std::string, std::uint64_t> regions = client.total;
  for (const auto& [region, bytes] : client.resident) regions[region] = bytes;
  std::uint64_t sum = 0;
  for (const auto& [region, bytes] : regions) sum += std::min(bytes, UINT64_MAX - sum);
  return sum;
}

}  // namespace

std::vector<DeviceUsage> device_usage_of(std::int64_t pid, const std::string& proc) {
  std::map<std::string, DeviceUsage> devices;
  std::set<std::pair<std::string, std::string>> counted;  // a duplicated descriptor is the same client
  std::error_code error;
  std::filesystem::directory_iterator entry(concat(proc, "/", pid, "/fdinfo"), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const Client client = read_client(entry->path());
    if (client.device.empty() || !counted.emplace(client.device, client.id).second) continue;
    const std::uint64_t bytes = bytes_of(client);
    if (bytes == 0) continue;
    DeviceUsage& device = devices[client.device];
    device.device = client.device;
    device.driver = client.driver;
    device.bytes += std::min(bytes, UINT64_MAX - device.bytes);
  }
  std::vector<DeviceUsage> all;
  for (auto& [name, device] : devices) all.push_back(std::move(device));
  return all;
}

std::string device_usage_text(const std::vector<DeviceUsage>& memory) {
  std::vector<std::string> parts;
  for (const DeviceUsage& one : memory) parts.push_back(concat(one.device, " ", format_bytes_rounded(one.bytes)));
  return join(parts, ", ");
}

}  // namespace tutti::tools
