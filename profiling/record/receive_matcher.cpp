#include "record/receive_matcher.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace tutti::replay {

namespace {

/// Key of the communicator, ranks of the job that send and receive, tag.
using Channel = std::tuple<std::uint64_t, int, int, std::int32_t>;

/// Ranks of the job by key of the communicator and rank in it.
using Members = std::map<std::pair<std::uint64_t, int>, int>;

Members members_of(const std::vector<RecordPart>& parts) {
  Members members;
  for (const RecordPart& part : parts) {
    for (const RecordedCommunicator& one : part.record.communicators) members[{one.key, one.rank}] = part.rank;
  }
  return members;
}

/// Calls `see(event, operation, channel)` for the messages of a part, in order.
template <typename See>
void visit_messages(RecordPart& part, const Members& members, OpKind kind, See see) {
  for (Event& event : part.record.sequences.front().events) {
    if (event.kind != EventKind::operation) continue;
    const RecordedOperation& op = part.record.operations[event.value];
    if (op.kind != kind) continue;
    const std::uint64_t key = part.record.communicators[op.communicator].key;
    const auto peer = members.find({key, op.root});
    if (peer == members.end()) continue;
    const bool sends = kind == OpKind::send;
    see(event, op, Channel(key, sends ? part.rank : peer->second, sends ? peer->second : part.rank, op.tag));
  }
}

struct Sent {
  DataType type;
  std::uint64_t count;
};

/// Index of the operation with the message's count and type.
std::uint32_t index_of(std::vector<RecordedOperation>& operations,
                       std::map<std::tuple<std::uint32_t, DataType, std::uint64_t>, std::uint32_t>& known,
                       std::uint32_t index, const Sent& sent) {
  const auto [place, is_new] =
      known.try_emplace({index, sent.type, sent.count}, static_cast<std::uint32_t>(operations.size()));
  if (is_new) {
    RecordedOperation changed = operations[index];
    changed.type = sent.type;
    changed.count = sent.count;
    operations.push_back(std::move(changed));
  }
  return place->second;
}

/// Ends the part before an event, or before the group that it is in.
void end_part(RecordPart& part, std::size_t event) {
  Sequence& sequence = part.record.sequences.front();
  for (std::size_t i = event; i > 0 && sequence.events[i - 1].kind != EventKind::end; --i) {
    if (sequence.events[i - 1].kind == EventKind::group) event = i - 1;
  }
  sequence.events.resize(event);
  sequence.gaps.resize(event);
  sequence.times.resize(event);
  part.is_cut_off = true;
  part.problem = "the sender of a message that it received from any rank is not known";
}

}  // namespace

void resolve_receives(RecordPart& part) {
  std::map<std::uint64_t, Meeting> meetings;
  for (const Meeting& meeting : part.meetings) meetings.emplace(meeting.receive, meeting);
  std::map<std::tuple<std::uint32_t, std::int32_t, std::int32_t>, std::uint32_t> known;
  std::vector<RecordedOperation>& operations = part.record.operations;
  std::vector<Event>& events = part.record.sequences.front().events;
  std::uint64_t receives = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind != EventKind::operation) continue;
    const RecordedOperation& op = operations[events[i].value];
    if (op.root != kAny && op.tag != kAny) continue;
    const auto meeting = meetings.find(receives++);
    if (meeting == meetings.end()) return end_part(part, i);
    const auto [from, tag] = std::pair(meeting->second.from, meeting->second.tag);
    const auto [place, is_new] =
        known.try_emplace({events[i].value, from, tag}, static_cast<std::uint32_t>(operations.size()));
    if (is_new) {
      RecordedOperation met = op;
      met.root = from;
      met.tag = tag;
      operations.push_back(std::move(met));
    }
    events[i].value = place->second;
  }
}

void match_receives(std::vector<RecordPart>& parts) {
  const Members members = members_of(parts);
  std::map<Channel, std::vector<Sent>> sent;
  for (RecordPart& part : parts) {
    visit_messages(part, members, OpKind::send, [&](const Event&, const RecordedOperation& op, const Channel& channel) {
      sent[channel].push_back({op.type, op.count});
    });
  }
  for (RecordPart& part : parts) {
    std::map<Channel, std::size_t> received;
    std::map<std::tuple<std::uint32_t, DataType, std::uint64_t>, std::uint32_t> known;
    visit_messages(part, members, OpKind::recv, [&](Event& event, const RecordedOperation& op, const Channel& channel) {
      const auto messages = sent.find(channel);
      const std::size_t number = received[channel]++;
      if (messages == sent.end() || number >= messages->second.size()) return;
      const Sent& message = messages->second[number];
      if (message.type != op.type || message.count != op.count)
        event.value = index_of(part.record.operations, known, event.value, message);
    });
  }
}

}  // namespace tutti::replay
