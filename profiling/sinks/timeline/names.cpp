#include "sinks/timeline/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace tutti::profiling {

namespace {

/// Length of the UTF-8 character at the beginning of the text; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : 4;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and everything above U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

/// The command without the folder of its program, cut between words to a width that fits the margin of a viewer.
std::string short_command(std::string_view command) {
  constexpr std::size_t longest = 24;
  const std::size_t slash = command.substr(0, command.find(' ')).rfind('/');
  if (slash != std::string_view::npos) command.remove_prefix(slash + 1);
  if (command.size() <= longest) return std::string(command);
  const std::size_t space = command.rfind(' ', longest);
  return std::string(command.substr(0, space == std::string_view::npos ? longest : space)) + "...";
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const auto ascii = static_cast<std::size_t>(
        std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }) -
        text.begin());
    valid += text.substr(0, ascii);
    text.remove_prefix(ascii);
    if (text.empty()) break;
    const std::size_t length = character_length(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      valid += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return valid;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && bytes >> (10 * (unit + 1)) != 0) ++unit;
  const double value = static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << (10 * unit));
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string process_label(const ProcessRow& process) {
  const std::string command = short_command(process.command);
  const std::string place = process.rank >= 0 ? fmt::format("rank {}", process.rank) : std::string("process");
  return valid_utf8(command.empty() ? fmt::format("{} (pid {})", place, process.pid)
                                    : fmt::format("{}: {} (pid {})", place, command, process.pid));
}

const ContextRow* context_of(const Profile& profile, const EventRow& event) {
  const auto index = static_cast<std::size_t>(event.context);
  return event.context >= 0 && index < profile.contexts.size() ? &profile.contexts[index] : nullptr;
}

std::uint64_t message_bytes(const Profile& profile, const EventRow& event) {
  const ContextRow* context = context_of(profile, event);
  return context != nullptr && context->bytes != 0 ? context->bytes : event.bytes;
}

std::string event_label(const Profile& profile, const EventRow& event) {
  const std::string_view name = name_of(profile, event.name);
  const std::uint64_t bytes = message_bytes(profile, event);
  if (event.kind != Kind::operation || bytes == 0) return std::string(name);
  return fmt::format("{} {}", name, bytes_text(bytes));
}

std::string_view category_of(const Profile& profile, const EventRow& event) {
  const auto index = static_cast<std::size_t>(event.source);
  if (event.source < 0 || index >= profile.sources.size()) return "unknown source";
  return profile.sources[index].title;
}

std::string_view name_of(const Profile& profile, std::uint32_t name) {
  return name < profile.names.size() ? std::string_view(profile.names[name]) : std::string_view();
}

std::uint64_t shared_time(const ProcessRow& process, std::uint64_t time_ns) {
  // Viewers read signed times; a damaged session must not become a negative one.
  constexpr auto latest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto offset = static_cast<std::uint64_t>(process.realtime_offset);
  const std::uint64_t shifted = time_ns + offset;
  if (process.realtime_offset < 0) return time_ns < 0 - offset ? 0 : std::min(shifted, latest);
  return shifted < time_ns ? latest : std::min(shifted, latest);
}

}  // namespace tutti::profiling
