#include "sinks/split_keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <string_view>

#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

struct Field {
  SplitBy field;
  const char* name;
};
constexpr std::array<Field, 7> kFields = {{{SplitBy::operation, "op"},
                                           {SplitBy::size, "size"},
                                           {SplitBy::backend, "backend"},
                                           {SplitBy::rank, "rank"},
                                           {SplitBy::device, "device"},
                                           {SplitBy::caller, "caller"},
                                           {SplitBy::region, "region"}}};

/// Rows without a value come last among numbers.
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::optional<SplitBy> parse_split(std::string_view text) noexcept {
  const auto* found = std::ranges::find_if(kFields, [&](const Field& field) { return field.name == text; });
  if (found == kFields.end()) return std::nullopt;
  return found->field;
}

SizeClasses::SizeClasses(std::span<const Profile* const> profiles) {
  std::set<std::uint64_t> sizes;
  for (const Profile* profile : profiles) {
    for (const TallyRow& row : profile->rows) {
      if (const ContextRow* context = row_at(profile->contexts, row.context)) sizes.insert(context->bytes);
    }
  }
  exact_ = sizes.size() <= kMostExact;
  for (const std::uint64_t bytes : sizes) {
    auto [place, added] = used_.try_emplace(class_of(bytes), bytes, bytes);
    if (!added) place->second.second = bytes;
  }
}

std::uint64_t SizeClasses::class_of(std::uint64_t bytes) const noexcept {
  return exact_ ? bytes : std::bit_floor(bytes);
}

std::string SizeClasses::name(std::uint64_t class_begin) const {
  const auto used = used_.find(class_begin);
  const bool several = used != used_.end() && used->second.first != used->second.second;
  if (!several) return base::format_bytes(used == used_.end() ? class_begin : used->second.first);
  // The largest class has no power of two above it.
  const std::uint64_t end = class_begin > std::numeric_limits<std::uint64_t>::max() / 2 ? 0 : 2 * class_begin;
  return base::format_bytes(class_begin) + " to " + (end == 0 ? "16384 PiB" : base::format_bytes(end));
}

SplitKeys::SplitKeys(const Profile& profile) : profile_(profile), sizes_(profile), devices_(device_names(profile)) {}

SplitValue SplitKeys::size_of(const TallyRow& row) const {
  const ContextRow* context = row_at(profile_.contexts, row.context);
  if (context == nullptr) return {kLast, "-"};
  const std::uint64_t begin = sizes_.class_of(context->bytes);
  return {static_cast<std::int64_t>(std::min<std::uint64_t>(begin, kLast - 1)), sizes_.name(begin)};
}

SplitValue SplitKeys::value(const TallyRow& row, SplitBy field) const {
  const ContextRow* context = row_at(profile_.contexts, row.context);
  const auto text = [](std::string_view value) { return SplitValue{0, value.empty() ? "-" : name_cell(value)}; };
  switch (field) {
    case SplitBy::operation:
      if (context != nullptr) return text(context->operation);
      return row.kind == Kind::operation ? text(row.name) : SplitValue{1, "(no operation)"};
    case SplitBy::size:
      return size_of(row);
    case SplitBy::backend:
      return text(context == nullptr ? "" : context->backend);
    case SplitBy::rank: {
      const ProcessRow* process = row_at(profile_.processes, row.process);
      return {process == nullptr || process->rank < 0 ? kLast : process->rank, rank_name(profile_, row.process)};
    }
    case SplitBy::device:
      if (row_at(profile_.devices, row.device) == nullptr) return {-1, "host"};
      return {row.device, devices_[static_cast<std::size_t>(row.device)]};
    case SplitBy::caller:
      return text(context == nullptr ? "" : context->label);
    case SplitBy::region:
      return text(row.region);
  }
  return {};
}

const char* SplitKeys::title(SplitBy field) noexcept {
  const auto* found = std::ranges::find(kFields, field, &Field::field);
  return found == kFields.end() ? "" : found->name;
}

std::vector<std::string> device_names(const Profile& profile) {
  std::map<std::string, std::map<std::uint64_t, std::set<std::uint64_t>>> by_name;
  for (const DeviceRow& device : profile.devices) {
    std::set<std::uint64_t>& sub_devices = by_name[device.name][device.device];
    if (device.sub_device != 0) sub_devices.insert(device.sub_device);
  }
  std::vector<std::string> names;
  for (const DeviceRow& device : profile.devices) {
    const auto& same_name = by_name[device.name];
    const auto place = same_name.find(device.device);
    std::string name = name_cell(device.name.empty() ? "device" : device.name);
    if (same_name.size() > 1 || device.sub_device != 0) {
      name += " #" + std::to_string(std::distance(same_name.begin(), place));
    }
    if (device.sub_device != 0) {
      const auto& sub_devices = place->second;
      name += "." + std::to_string(std::distance(sub_devices.begin(), sub_devices.find(device.sub_device)));
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tutti::profiling
