"""Decodes a Perfetto trace with Perfetto's own schema and prints it as JSON.

Fails where trace_processor would lose data: a text that is not defined in its sequence, an event on a track that is not
described, an end without its begin, slices that do not nest, a flow that goes back in time or ends nowhere.
"""

import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

CLEARED, NEEDS_STATE = 1, 2


class Sequence:
    def __init__(self):
        self.valid = False
        self.texts = {"categories": {}, "names": {}, "keys": {}, "values": {}}

    def define(self, packet):
        if packet.sequence_flags & CLEARED:
            self.__init__()
            self.valid = True
        data = packet.interned_data
        for table, entries in (("categories", data.event_categories), ("names", data.event_names),
                               ("keys", data.debug_annotation_names)):
            for entry in entries:
                assert entry.iid not in self.texts[table], "text defined twice"
                self.texts[table][entry.iid] = entry.name
        for entry in data.debug_annotation_string_values:
            self.texts["values"][entry.iid] = entry.str.decode("utf-8")


def annotation(sequence, fact):
    key = sequence.texts["keys"][fact.name_iid]
    kind = fact.WhichOneof("value")
    value = getattr(fact, kind)
    return key, sequence.texts["values"][value] if kind == "string_value_iid" else value


def read(path):
    trace = pb.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    sequences, tracks, events = {}, {}, []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id != 0, "packet without a sequence"
        sequence = sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
        sequence.define(packet)
        assert sequence.valid, "packet before the beginning of its sequence"
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.uuid not in tracks, "track described twice"
            assert descriptor.parent_uuid == 0 or descriptor.parent_uuid in tracks, "parent described later"
            tracks[descriptor.uuid] = descriptor
        elif packet.HasField("track_event"):
            assert packet.sequence_flags & NEEDS_STATE or packet.sequence_flags & CLEARED
            events.append((packet.timestamp, packet.track_event, sequence))
    events.sort(key=lambda event: event[0])
    return tracks, events


def path_of(tracks, uuid):
    names = []
    while uuid:
        names.insert(0, tracks[uuid].name)
        uuid = tracks[uuid].parent_uuid
    return names


def main(path):
    tracks, events = read(path)
    slices, counters, stacks, sources, flows = [], {}, {}, {}, []
    for time, event, sequence in events:
        uuid = event.track_uuid
        assert uuid in tracks, "event on a track that is not described"
        if event.type == pb.TrackEvent.TYPE_COUNTER:
            assert tracks[uuid].HasField("counter")
            counters.setdefault("/".join(path_of(tracks, uuid)), []).append([time, event.counter_value])
            continue
        stack = stacks.setdefault(uuid, [])
        if event.type == pb.TrackEvent.TYPE_SLICE_END:
            slices[stack.pop()]["end"] = time
            continue
        number = len(slices)
        slices.append({
            "track": path_of(tracks, uuid),
            "name": sequence.texts["names"][event.name_iid],
            "category": [sequence.texts["categories"][iid] for iid in event.category_iids][0],
            "begin": time,
            "end": time,
            "depth": len(stack),
            "above": [slices[index]["name"] for index in stack],
            "args": dict(annotation(sequence, fact) for fact in event.debug_annotations),
            "instant": event.type == pb.TrackEvent.TYPE_INSTANT,
        })
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(number)
        for flow in event.terminating_flow_ids:
            flows.append([sources.pop(flow), number])
        for flow in event.flow_ids:
            assert flow not in sources, "flow begun twice"
            sources[flow] = number
    assert not any(stacks.values()), "slice without an end"
    assert not sources, "flow without an end"
    order = sorted(tracks.values(), key=lambda track: track.sibling_order_rank)
    json.dump({"slices": slices, "counters": counters, "flows": flows,
               "tracks": [path_of(tracks, track.uuid) for track in order]}, sys.stdout)


main(sys.argv[1])
