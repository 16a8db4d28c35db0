#include "timeline/merge_timelines.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "timeline/timeline_writer.hpp"
#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

constexpr std::string_view kTime = "\"ts\": ";
constexpr std::string_view kTensor = "\"pid\": ";
constexpr std::string_view kStart = "\"start_time_since_epoch_in_micros\":";

/// A number behind its key. Names cannot hold the key: their quotes are escaped.
struct Field {
  std::size_t begin = 0;
  std::size_t end = 0;
  long long value = 0;
};

std::optional<Field> find(std::string_view line, std::string_view key) {
  const std::size_t place = line.find(key);
  if (place == std::string_view::npos) return {};
  Field field{.begin = place + key.size()};
  const char* const first = line.data() + field.begin;
  const auto [rest, error] = std::from_chars(first, line.data() + line.size(), field.value);
  if (error != std::errc{}) return {};
  field.end = static_cast<std::size_t>(rest - line.data());
  return field;
}

/// Calls visit(line) for each whole event of a part.
template <typename Visit>
void each_event(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with(',') || line.ends_with(']')) line.remove_suffix(1);
    if (line.starts_with('{') && line.ends_with('}')) visit(line);
  }
}

/// The moment at which a part begins, on the clock of the first part.
long long start_of(const TimelinePart& part) {
  std::optional<Field> start;
  each_event(part.text, [&](std::string_view line) {
    if (!start) start = find(line, kStart);
  });
  if (!start) {
    throw Error(ErrorCode::config, "the timeline of rank " + std::to_string(part.rank) +
                                       " has no start_time_since_epoch_in_micros; it is no timeline, or empty");
  }
  return start->value - part.clock_offset.count();
}

std::string metadata(std::string_view what, int rank, std::string_view tail) {
  return "{\"name\": \"" + std::string(what) + "\", \"ph\": \"M\", \"pid\": " + std::to_string(rank) +
         std::string(tail) + '}';
}

/// The event with the rank as process and the tensor as thread.
std::string moved(std::string_view line, const Field& tensor, int rank, long long shift) {
  const std::string place = std::to_string(rank) + ", \"tid\": " + std::to_string(tensor.value);
  std::string text(line);
  if (line.find("\"ph\": \"M\"") != std::string_view::npos) {
    text.replace(tensor.begin, tensor.end - tensor.begin, place);
    const std::size_t name = text.find("\"process_");
    return text.replace(name, std::string_view("\"process_").size(), "\"thread_");
  }
  const std::optional<Field> time = find(line, kTime);
  if (!time) return {};
  // The time comes before the tensor, so that the later place is replaced first.
  text.replace(tensor.begin, tensor.end - tensor.begin, place);
  return text.replace(time->begin, time->end - time->begin, std::to_string(time->value + shift));
}

/// A mark that belongs to no tensor.
std::string moved_marker(std::string_view line, int rank, long long shift) {
  const std::optional<Field> time = find(line, kTime);
  if (!time) return {};
  std::string text(line);
  text.replace(time->begin, time->end - time->begin,
               std::to_string(time->value + shift) + ", \"pid\": " + std::to_string(rank) + ", \"tid\": 0");
  // It is a mark of the rank's, not of all processes.
  const std::size_t scope = text.rfind("\"s\": \"g\"");
  return scope == std::string::npos ? text : text.replace(scope, 8, "\"s\": \"p\"");
}

}  // namespace

std::string merge_timelines(std::span<const TimelinePart> parts) {
  std::vector<long long> starts;
  long long first = std::numeric_limits<long long>::max();
  for (const TimelinePart& part : parts) first = std::min(first, starts.emplace_back(start_of(part)));
  std::string text = "[";
  const auto add = [&](const std::string& event) {
    if (event.empty()) return;
    text += (text.size() > 1 ? ",\n" : "\n") + event;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TimelinePart& part = parts[i];
    const std::string on = part.host.empty() ? "" : " on " + json_escaped(part.host);
    add(metadata("process_name", part.rank, ", \"args\": {\"name\": \"rank " + std::to_string(part.rank) + on + "\"}"));
    add(metadata("process_sort_index", part.rank, ", \"args\": {\"sort_index\": " + std::to_string(part.rank) + "}"));
    const long long shift = starts[i] - first;
    each_event(part.text, [&](std::string_view line) {
      const std::optional<Field> tensor = find(line, kTensor);
      if (!tensor)
        add(moved_marker(line, part.rank, shift));
      else if (tensor->value != 0)
        add(moved(line, *tensor, part.rank, shift));
    });
  }
  return text + (text.size() > 1 ? "\n]\n" : "]\n");
}

}  // namespace tutti::horovod
