#include "info/native_ways.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string shown_name(OpKind kind) { return kind == OpKind::send ? "send, recv" : std::string(name(kind)); }

std::string range(std::uint64_t from, std::uint64_t to) {
  return from == to ? format_bytes(from) : concat(format_bytes(from), " to ", format_bytes(to));
}

std::string_view faster(const NativeMove& move) {
  return move.past_us < move.through_us ? "past the caches" : "through the caches";
}

}  // namespace

void report_native(Report& report, const NativeInfo& info) {
  report.heading("Native engine",
                 concat(info.ranks,
                        " ranks, by the bytes that a rank gives in; bytes up to the next line belong to the "
                        "line before"));
  Table table({{"operation"}, {"bytes"}, {"ordinary memory"}, {"chunks"}, {"memory all ranks reach"}});
  const OpKind* last = nullptr;
  for (const NativeWay& way : info.ways) {
    const bool is_new = last == nullptr || *last != way.kind;
    table.add({is_new ? shown_name(way.kind) : "", range(way.from_bytes, way.to_bytes), std::string(way.ordinary),
               way.longest_chunk == 0 ? "-" : range(way.shortest_chunk, way.longest_chunk), std::string(way.reached)});
    last = &way.kind;
  }
  report.add(table);
  report.line(
      concat("all ranks reach buffers of threads of one process, and memory from tutti::allocate() or "
             "tutti::share()",
             info.direct ? "" : "; TUTTI_NATIVE_DIRECT=0 keeps them from it"));
  report.line(concat("a ring holds ", format_bytes(info.ring_bytes), "; results of more than ",
                     format_bytes(info.past_caches_above), " are written past the caches"));
  report.heading("Chunks from core to core",
                 "from the first to the last core, measured now; every communicator learns "
                 "for itself and again and again which way is faster");
  if (info.moves.empty()) {
    report.line("not measured: this process may use one core only");
    return;
  }
  Table moves({{"chunk", Align::right},
               {"through the caches, us", Align::right},
               {"past the caches, us", Align::right},
               {"faster"}});
  for (const NativeMove& move : info.moves) {
    moves.add({format_bytes(move.chunk_bytes), three_digits(move.through_us), three_digits(move.past_us),
               info.steady ? std::string(faster(move)) : "unknown"});
  }
  report.add(moves);
  if (!info.steady) report.line("other programs disturbed the measurement");
}

Json native_json(const NativeInfo& info) {
  Json ways = Json::array();
  for (const NativeWay& way : info.ways) {
    ways.push_back({{"operation", way.kind == OpKind::send ? "message" : name(way.kind)},
                    {"from_bytes", way.from_bytes},
                    {"to_bytes", way.to_bytes},
                    {"ordinary", way.ordinary},
                    {"reached", way.reached},
                    {"shortest_chunk", way.shortest_chunk},
                    {"longest_chunk", way.longest_chunk}});
  }
  Json moves = Json::array();
  for (const NativeMove& move : info.moves) {
    moves.push_back({{"chunk_bytes", move.chunk_bytes},
                     {"through_us", move.through_us},
                     {"past_us", move.past_us},
                     {"faster", move.past_us < move.through_us ? "past" : "through"}});
  }
  return {{"ranks", info.ranks},   {"ring_bytes", info.ring_bytes}, {"past_caches_above", info.past_caches_above},
          {"direct", info.direct}, {"ways", std::move(ways)},       {"moves", std::move(moves)},
          {"steady", info.steady}};
}

}  // namespace tutti::tools
