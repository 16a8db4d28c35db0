#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sinks/timeline/annotations.hpp"
#include "sinks/timeline/layout.hpp"
#include "sinks/timeline/names.hpp"
#include "sinks/timeline/timeline.hpp"

namespace tutti::profiling {

namespace {

/// A JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Hands events to the sink in pieces of moderate size.
class JsonEvents {
 public:
  explicit JsonEvents(const ByteSink& sink) : sink_(sink) {}

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    if (text_.size() > 1U << 16) flush();
  }

  void flush() {
    sink_(text_);
    text_.clear();
  }

 private:
  const ByteSink& sink_;
  std::string text_;
  bool first_ = true;
};

/// Writes the timeline of one process. The format knows processes and threads only: each track is a thread, and the
/// host is part of the name of the process.
class ProcessWriter {
 public:
  ProcessWriter(const Profile& profile, int process, int order, std::uint64_t start_ns, JsonEvents& output)
      : profile_(profile),
        events_(events_of(profile, process)),
        layout_(lay_out(profile, process)),
        pid_(process + 1),
        start_ns_(start_ns),
        output_(output) {
    const ProcessRow& row = profile.processes[static_cast<std::size_t>(process)];
    add_name("process_name", 0, fmt::format("{} on {}", process_label(row), row.host));
    output_.add(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})", pid_, order);
  }

  void write() {
    for (std::size_t track = 0; track < layout_.tracks.size(); ++track) {
      if (layout_.tracks[track].kind == Track::Kind::memory) continue;
      add_name("thread_name", track + 1, track_name(layout_.tracks[track]));
      output_.add(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", pid_,
                  track + 1, track);
    }
    for (const Slice& slice : layout_.slices) write(slice);
    for (std::size_t flow = 0; flow < layout_.flows.size(); ++flow) write(layout_.flows[flow], flow);
    for (const CounterPoint& point : layout_.points)
      output_.add(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"bytes":{}}}}})",
                  json_string(track_name(layout_.tracks[point.track])), pid_, time(point.time_ns), point.value);
  }

 private:
  void add_name(std::string_view kind, std::size_t thread, const std::string& name) {
    output_.add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", kind, pid_, thread,
                json_string(name));
  }

  // A track below another one carries the name of that one.
  [[nodiscard]] std::string track_name(const Track& track) const {
    if (track.parent == kNone || track.kind == Track::Kind::device) return track.name;
    return layout_.tracks[track.parent].name + ", " + track.name;
  }

  // Microseconds since the beginning of the trace, exact to the nanosecond: a double would not hold those since 1970.
  [[nodiscard]] std::string time(std::uint64_t time_ns) const {
    const std::uint64_t passed = time_ns - std::min(time_ns, start_ns_);
    return fmt::format("{}.{:03}", passed / 1000, passed % 1000);
  }

  void write(const Slice& slice) {
    if (slice.event == kNone) {
      output_.add(R"({{"ph":"X","cat":"region","name":{},"pid":{},"tid":{},"ts":{},"dur":{}}})",
                  json_string(name_of(profile_, slice.region)), pid_, slice.track + 1, time(slice.begin_ns),
                  duration(slice));
      return;
    }
    const EventRow& row = events_[slice.event];
    annotate(profile_, row, slice.moved_ns, annotations_);
    std::string facts;
    for (const Annotation& fact : annotations_) {
      if (!facts.empty()) facts += ',';
      facts += json_string(fact.key) + ':';
      if (const auto* text = std::get_if<std::string_view>(&fact.value); text != nullptr) facts += json_string(*text);
      if (const auto* number = std::get_if<std::uint64_t>(&fact.value); number != nullptr)
        facts += fmt::format("{}", *number);
      if (const auto* number = std::get_if<std::int64_t>(&fact.value); number != nullptr)
        facts += fmt::format("{}", *number);
    }
    output_.add(R"({{"ph":"X","cat":{},"name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                json_string(category_of(profile_, row)), json_string(event_label(profile_, row)), pid_, slice.track + 1,
                time(slice.begin_ns), duration(slice), facts);
  }

  [[nodiscard]] static std::string duration(const Slice& slice) {
    const std::uint64_t length = slice.end_ns - slice.begin_ns;
    return fmt::format("{}.{:03}", length / 1000, length % 1000);
  }

  // An arrow leaves its call when the device begins, or when the call ends if that is earlier: never after its arrival.
  void write(const Flow& flow, std::size_t number) {
    const Slice& from = layout_.slices[flow.from];
    const Slice& to = layout_.slices[flow.to];
    constexpr auto form = R"({{"ph":"{}",{}"cat":"launch","name":"launch","id":"{}.{}","pid":{},"tid":{},"ts":{}}})";
    output_.add(form, "s", "", pid_, number, pid_, from.track + 1, time(std::min(from.end_ns, to.begin_ns)));
    output_.add(form, "f", R"("bp":"e",)", pid_, number, pid_, to.track + 1, time(to.begin_ns));
  }

  const Profile& profile_;
  std::span<const EventRow> events_;
  Layout layout_;
  int pid_;
  std::uint64_t start_ns_;
  JsonEvents& output_;
  std::vector<Annotation> annotations_;
};

}  // namespace

void write_chrome_json(const Profile& profile, const ByteSink& sink) {
  std::uint64_t start = UINT64_MAX;
  for (const ProcessRow& row : profile.processes) start = std::min(start, shared_time(row, row.begin_ns));
  for (const EventRow& event : profile.events) {
    if (const auto index = static_cast<std::size_t>(event.process); index < profile.processes.size())
      start = std::min(start, shared_time(profile.processes[index], event.begin_ns));
  }
  sink(fmt::format(R"({{"displayTimeUnit":"ns","otherData":{{"start_realtime_ns":"{}"}},"traceEvents":[)",
                   start == UINT64_MAX ? 0 : start));
  JsonEvents output(sink);
  int order = 0;
  for (const int process : display_order(profile)) ProcessWriter(profile, process, order++, start, output).write();
  output.flush();
  sink("\n]}\n");
}

}  // namespace tutti::profiling
