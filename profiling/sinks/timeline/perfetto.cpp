#include <algorithm>
#include <map>
#include <vector>

#include "sinks/timeline/annotations.hpp"
#include "sinks/timeline/layout.hpp"
#include "sinks/timeline/names.hpp"
#include "sinks/timeline/perfetto_packets.hpp"
#include "sinks/timeline/timeline.hpp"

namespace tutti::profiling {

namespace {

/// Types of track events.
enum EventType : int { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

/// Well mixed bits, so that traces that were concatenated do not share numbers.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

/// Number of the first track of a process; hosts have numbers of their own.
std::uint64_t number_of(const ProcessRow& process) {
  const std::uint64_t host = std::hash<std::string>()(process.host);
  return mix(host ^ mix(process.pid ^ mix(shared_time(process, process.begin_ns))));
}

/// Writes the timeline of one process.
class ProcessWriter {
 public:
  ProcessWriter(const Profile& profile, int process, PacketSequence& sequence)
      : profile_(profile),
        row_(profile.processes[static_cast<std::size_t>(process)]),
        sequence_(sequence),
        number_(number_of(row_)),
        events_(events_of(profile, process)),
        layout_(lay_out(profile, process)) {}

  void write(std::uint64_t host_uuid, int order) {
    write_track(sequence_, {.uuid = uuid_of(kNone), .parent = host_uuid, .name = process_label(row_), .order = order});
    for (std::uint32_t index = 0; index < layout_.tracks.size(); ++index) {
      const Track& track = layout_.tracks[index];
      write_track(sequence_, {.uuid = uuid_of(index),
                              .parent = uuid_of(track.parent),
                              .name = track.name,
                              .order = static_cast<int>(index),
                              .counter_of_bytes = track.kind == Track::Kind::memory});
    }
    find_flows();
    for (const Moment& moment : moments()) write(moment);
  }

 private:
  /// A packet that is to be written.
  struct Moment {
    std::uint64_t time_ns = 0;
    std::uint32_t index = 0;  ///< of the slice or point
    EventType type = slice_begin;
  };

  [[nodiscard]] std::uint64_t uuid_of(std::uint32_t track) const {
    return mix(number_ + (track == kNone ? 0 : std::uint64_t{track} + 1));
  }

  void find_flows() {
    arrivals_.assign(layout_.slices.size(), kNone);
    for (std::uint32_t flow = 0; flow < layout_.flows.size(); ++flow) arrivals_[layout_.flows[flow].to] = flow;
  }

  // Ends and begins of each track alternate as its slices nest; a stable sort by time keeps that order.
  [[nodiscard]] std::vector<Moment> moments() const {
    std::vector<Moment> all;
    all.reserve(2 * layout_.slices.size() + layout_.points.size());
    std::vector<std::uint32_t> open;
    const auto close_until = [&](std::uint64_t time_ns) {
      while (!open.empty() && layout_.slices[open.back()].end_ns <= time_ns) {
        all.push_back({layout_.slices[open.back()].end_ns, open.back(), slice_end});
        open.pop_back();
      }
    };
    for (std::uint32_t index = 0; index < layout_.slices.size(); ++index) {
      const Slice& slice = layout_.slices[index];
      const bool same_track = index > 0 && layout_.slices[index - 1].track == slice.track;
      close_until(same_track ? slice.begin_ns : UINT64_MAX);
      if (is_instant(slice)) {
        all.push_back({slice.begin_ns, index, instant});
      } else {
        all.push_back({slice.begin_ns, index, slice_begin});
        open.push_back(index);
      }
    }
    close_until(UINT64_MAX);
    for (std::uint32_t index = 0; index < layout_.points.size(); ++index)
      all.push_back({layout_.points[index].time_ns, index, counter});
    std::stable_sort(all.begin(), all.end(),
                     [](const Moment& left, const Moment& right) { return left.time_ns < right.time_ns; });
    return all;
  }

  [[nodiscard]] bool is_instant(const Slice& slice) const {
    return slice.event != kNone && slice.begin_ns == slice.end_ns && events_[slice.event].kind == Kind::traffic;
  }

  void write(const Moment& moment) {
    message_.clear();
    {
      protozero::pbf_writer event(message_);
      event.add_enum(field::Event::type, moment.type);
      if (moment.type == counter) {
        const CounterPoint& point = layout_.points[moment.index];
        event.add_uint64(field::Event::track_uuid, uuid_of(point.track));
        event.add_int64(field::Event::counter_value, static_cast<std::int64_t>(point.value));
      } else {
        event.add_uint64(field::Event::track_uuid, uuid_of(layout_.slices[moment.index].track));
        if (moment.type != slice_end) describe(event, moment.index);
      }
    }
    sequence_.write(field::Packet::track_event, message_, std::max<std::uint64_t>(moment.time_ns, 1));
  }

  void describe(protozero::pbf_writer& event, std::uint32_t index) {
    const Slice& slice = layout_.slices[index];
    if (slice.event == kNone) {
      name(event, name_of(profile_, slice.region), "region");
      return;
    }
    const EventRow& row = events_[slice.event];
    name(event, event_label(profile_, row), category_of(profile_, row));
    annotate(profile_, row, slice.moved_ns, annotations_);
    for (const Annotation& fact : annotations_) add(event, fact);
    const auto [first, last] = std::equal_range(layout_.flows.begin(), layout_.flows.end(), Flow{.from = index},
                                                [](const Flow& a, const Flow& b) { return a.from < b.from; });
    for (auto flow = first; flow != last; ++flow)
      event.add_fixed64(field::Event::flow_ids, flow_number(static_cast<std::uint64_t>(flow - layout_.flows.begin())));
    if (arrivals_[index] != kNone) event.add_fixed64(field::Event::terminating_flow_ids, flow_number(arrivals_[index]));
  }

  [[nodiscard]] std::uint64_t flow_number(std::uint64_t flow) const { return mix(~number_ + flow); }

  void name(protozero::pbf_writer& event, std::string_view text, std::string_view category) {
    event.add_uint64(field::Event::name_iid, sequence_.intern(TextTable::event_names, text));
    event.add_uint64(field::Event::category_iids, sequence_.intern(TextTable::categories, category));
  }

  void add(protozero::pbf_writer& event, const Annotation& fact) {
    const std::uint64_t key = sequence_.intern(TextTable::annotation_names, fact.key);
    const auto* text = std::get_if<std::string_view>(&fact.value);
    const std::uint64_t text_iid = text != nullptr ? sequence_.intern(TextTable::values, *text) : 0;
    protozero::pbf_writer annotation(event, field::Event::debug_annotations);
    annotation.add_uint64(field::Annotation::annotation_name_iid, key);
    if (text != nullptr) annotation.add_uint64(field::Annotation::string_value_iid, text_iid);
    if (const auto* number = std::get_if<std::uint64_t>(&fact.value); number != nullptr)
      annotation.add_uint64(field::Annotation::uint_value, *number);
    if (const auto* number = std::get_if<std::int64_t>(&fact.value); number != nullptr)
      annotation.add_int64(field::Annotation::int_value, *number);
  }

  const Profile& profile_;
  const ProcessRow& row_;
  PacketSequence& sequence_;
  std::uint64_t number_;
  std::span<const EventRow> events_;
  Layout layout_;
  std::vector<std::uint32_t> arrivals_;  ///< flow that ends at a slice
  std::vector<Annotation> annotations_;
  std::string message_;
};

}  // namespace

bool perfetto_built() noexcept { return true; }

void write_perfetto(const Profile& profile, const ByteSink& sink) {
  const std::vector<int> order = display_order(profile);
  PacketSequence common(sink, 1);
  std::map<std::string_view, std::uint64_t> hosts;
  int position = 0;
  for (const int index : order) {
    const ProcessRow& row = profile.processes[static_cast<std::size_t>(index)];
    const auto [host, added] = hosts.try_emplace(row.host, mix(number_of(row) + UINT32_MAX));
    if (added) write_track(common, {.uuid = host->second, .name = row.host, .order = static_cast<int>(hosts.size())});
    PacketSequence sequence(sink, static_cast<std::uint32_t>(index) + 2);
    ProcessWriter(profile, index, sequence).write(host->second, ++position);
  }
}

}  // namespace tutti::profiling
