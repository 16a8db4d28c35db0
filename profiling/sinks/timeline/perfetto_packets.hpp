#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sinks/timeline/timeline.hpp"

/// Packets of Perfetto's trace format (perfetto/protos/perfetto/trace/trace_packet.proto). A trace is a repetition of
/// packets, so its length is bounded by nothing.
namespace tutti::profiling {

/// Field numbers of the messages that are written.
namespace field {
enum Trace : protozero::pbf_tag_type { packet = 1 };
enum Packet : protozero::pbf_tag_type {
  timestamp = 8,
  sequence = 10,
  track_event = 11,
  interned_data = 12,
  sequence_flags = 13,
  track_descriptor = 60,
};
enum Event : protozero::pbf_tag_type {
  category_iids = 3,
  debug_annotations = 4,
  type = 9,
  name_iid = 10,
  track_uuid = 11,
  counter_value = 30,
  flow_ids = 47,
  terminating_flow_ids = 48,
};
enum Descriptor : protozero::pbf_tag_type {
  uuid = 1,
  track_name = 2,
  parent_uuid = 5,
  counter = 8,
  child_ordering = 11,
  sibling_order_rank = 12,
};
enum Annotation : protozero::pbf_tag_type {
  annotation_name_iid = 1,
  uint_value = 3,
  int_value = 4,
  string_value_iid = 17,
};
enum Interned : protozero::pbf_tag_type { iid = 1, text = 2 };
}  // namespace field

/// Tables of texts that packets name by number; the values are the fields of InternedData.
enum class TextTable : protozero::pbf_tag_type { categories = 1, event_names = 2, annotation_names = 3, values = 29 };

/// Lets a table be searched without a copy of the text.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

/// Writes the packets of one sequence: texts are written when they are used first, and known to this sequence only, so
/// that the memory for them is bounded by one process.
class PacketSequence {
 public:
  /// `id`: different for every sequence of the trace, and not 0.
  PacketSequence(const ByteSink& sink, std::uint32_t id) : sink_(sink), id_(id) {}

  /// Number of a text; it will be defined in the packet that is written next.
  std::uint64_t intern(TextTable table, std::string_view text);

  /// Writes a packet with the message in the field; `time_ns` 0: without a time.
  void write(field::Packet field, std::string_view message, std::uint64_t time_ns);

 private:
  const ByteSink& sink_;
  std::uint32_t id_;
  bool begun_ = false;
  std::map<TextTable, std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>>> numbers_;
  std::string definitions_;  ///< InternedData of the next packet
  std::string packet_, frame_;
};

/// Description of a track.
struct TrackDescription {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;  ///< 0: none
  std::string_view name;
  int order = 0;  ///< among the tracks with the same parent
  bool counter_of_bytes = false;
};

void write_track(PacketSequence& sequence, const TrackDescription& track);

}  // namespace tutti::profiling
