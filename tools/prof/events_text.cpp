#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "prof/session_output.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

using profiling::EventRow;
using profiling::Kind;
using profiling::Profile;

constexpr std::array<std::string_view, profiling::kKindCount> kKinds = {"host",    "device",    "traffic", "allocation",
                                                                        "release", "operation", "stage"};

template <typename Row>
const Row* at(const std::vector<Row>& rows, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < rows.size() ? &rows[static_cast<std::size_t>(index)] : nullptr;
}

std::int64_t wall_time(const Profile& profile, const EventRow& event) {
  const auto* const process = at(profile.processes, event.process);
  return static_cast<std::int64_t>(event.begin_ns) + (process != nullptr ? process->realtime_offset : 0);
}

/// "12:34:56.123456789" of the local day.
std::string clock_text(std::int64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1000000000;
  const std::time_t seconds = nanoseconds / kSecond;
  std::tm day{};
  localtime_r(&seconds, &day);
  std::array<char, 16> clock{};
  const std::size_t length = std::strftime(clock.data(), clock.size(), "%H:%M:%S", &day);
  std::string fraction = std::to_string(nanoseconds % kSecond);
  fraction.insert(0, 9 - std::min<std::size_t>(9, fraction.size()), '0');
  return concat(std::string_view(clock.data(), length), '.', fraction);
}

std::string line_of(const Profile& profile, const EventRow& event) {
  std::string line = clock_text(wall_time(profile, event));
  if (const auto* const process = at(profile.processes, event.process)) {
    line += concat(" - ", process->host, " - vpid: ", process->pid, ", vtid: ", event.thread);
    if (process->rank >= 0) line += concat(", rank: ", process->rank);
  }
  const auto* const source = at(profile.sources, event.source);
  const std::string* const name = at(profile.names, static_cast<int>(event.name));
  line += concat(" - ", source != nullptr ? source->title : "?", ' ', kKinds[static_cast<std::size_t>(event.kind)], ' ',
                 name != nullptr ? printable(*name, 400) : "?", ": { dur: ", event.end_ns - event.begin_ns);
  if (event.bytes != 0) line += concat(", size: ", event.bytes);
  if (event.error != 0) line += concat(", err: ", event.error);
  if (const auto* const device = at(profile.devices, event.device))
    line += concat(", did: ", device->device, ", sdid: ", device->sub_device);
  if (const auto* const context = at(profile.contexts, event.context))
    line += concat(", op: ", context->operation, ", op_size: ", context->bytes);
  if (event.region != 0) {
    if (const std::string* const region = at(profile.names, static_cast<int>(event.region)))
      line += concat(", region: ", printable(*region, 400));
  }
  return line + " }\n";
}

}  // namespace

std::string events_text(const Profile& profile) {
  std::vector<std::pair<std::int64_t, const EventRow*>> order;
  order.reserve(profile.events.size());
  for (const EventRow& event : profile.events) order.emplace_back(wall_time(profile, event), &event);
  std::ranges::stable_sort(order, {}, &std::pair<std::int64_t, const EventRow*>::first);
  std::string text;
  for (const auto& [time, event] : order) text += line_of(profile, *event);
  return text;
}

}  // namespace tutti::tools
