#include "sinks/timeline/perfetto_packets.hpp"

#include "sinks/timeline/names.hpp"

namespace tutti::profiling {

namespace {

// Sequence flags: texts of earlier sequences are forgotten; this packet uses texts that were defined before.
constexpr std::uint32_t kStateCleared = 1;
constexpr std::uint32_t kNeedsState = 2;

}  // namespace

std::uint64_t PacketSequence::intern(TextTable table, std::string_view text) {
  auto& numbers = numbers_[table];
  if (const auto known = numbers.find(text); known != numbers.end()) return known->second;
  const std::uint64_t number = numbers.size() + 1;
  numbers.emplace(text, number);
  protozero::pbf_writer data(definitions_);
  protozero::pbf_writer definition(data, static_cast<protozero::pbf_tag_type>(table));
  definition.add_uint64(field::Interned::iid, number);
  definition.add_string(field::Interned::text, valid_utf8(text));
  return number;
}

void PacketSequence::write(field::Packet field, std::string_view message, std::uint64_t time_ns) {
  packet_.clear();
  frame_.clear();
  {
    protozero::pbf_writer packet(packet_);
    if (time_ns != 0) packet.add_uint64(field::Packet::timestamp, time_ns);
    packet.add_uint32(field::Packet::sequence, id_);
    packet.add_uint32(field::Packet::sequence_flags, begun_ ? kNeedsState : kStateCleared);
    if (!definitions_.empty()) packet.add_message(field::Packet::interned_data, definitions_);
    packet.add_message(field, message.data(), message.size());
  }
  protozero::pbf_writer(frame_).add_message(field::Trace::packet, packet_);
  definitions_.clear();
  begun_ = true;
  sink_(frame_);
}

void write_track(PacketSequence& sequence, const TrackDescription& track) {
  constexpr int explicit_order = 3;
  constexpr int unit_bytes = 3;
  std::string message;
  {
    protozero::pbf_writer descriptor(message);
    descriptor.add_uint64(field::Descriptor::uuid, track.uuid);
    descriptor.add_string(field::Descriptor::track_name, valid_utf8(track.name));
    if (track.parent != 0) descriptor.add_uint64(field::Descriptor::parent_uuid, track.parent);
    descriptor.add_enum(field::Descriptor::child_ordering, explicit_order);
    descriptor.add_int32(field::Descriptor::sibling_order_rank, track.order);
    if (track.counter_of_bytes) {
      protozero::pbf_writer counter(descriptor, field::Descriptor::counter);
      counter.add_enum(3, unit_bytes);
    }
  }
  sequence.write(field::Packet::track_descriptor, message, 0);
}

}  // namespace tutti::profiling
