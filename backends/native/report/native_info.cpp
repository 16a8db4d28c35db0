#include "tutti/info/native_info.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/broadcast_stream.hpp"
#include "algorithms/direct.hpp"
#include "algorithms/flat.hpp"
#include "algorithms/message.hpp"
#include "algorithms/pair_exchange.hpp"
#include "algorithms/reduce_pipeline.hpp"
#include "caches.hpp"
#include "report/move_probe.hpp"
#include "segment/segment.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"

namespace tutti {
namespace {

using native::Geometry;
using native::Shares;

constexpr OpKind kShown[] = {OpKind::allreduce, OpKind::reduce,    OpKind::reduce_scatter,
                             OpKind::allgather, OpKind::broadcast, OpKind::alltoall,
                             OpKind::gather,    OpKind::scatter,   OpKind::send};
constexpr unsigned kSmallest = 3;  // powers of two: bytes
constexpr unsigned kLargest = 30;

Operation operation_of(OpKind kind, std::uint64_t bytes, int ranks) {
  const bool of_all = traits(kind).input == Extent::blocks;
  Operation operation;
  operation.kind = kind;
  operation.count = of_all ? std::max<std::uint64_t>(bytes / static_cast<std::uint64_t>(ranks), 1) : bytes;
  return operation;
}

/// Bytes of the chunks in the rings.
std::uint64_t chunk_of(const Geometry& geometry, const Operation& operation) {
  const auto ranks = static_cast<int>(geometry.ranks);
  const std::uint64_t block = operation.block_bytes();
  switch (operation.kind) {
    case OpKind::allreduce:
    case OpKind::reduce:
    case OpKind::reduce_scatter: {
      const bool scatters = native::scatters_result(operation.kind);
      const Shares shares = scatters ? Shares::blocks(operation, ranks) : Shares::parts(operation, ranks);
      const std::uint64_t longest = shares.longest(ranks);
      return std::min(longest, native::ReducePipeline::chunk(geometry, operation.kind, longest));
    }
    case OpKind::allgather:
    case OpKind::broadcast:
      return std::min(block, native::BroadcastStream::chunk(geometry, operation.kind, block));
    case OpKind::send:
      return std::min(block, native::Message::chunk(geometry.message, block));
    default:
      return std::min(block, native::PairExchange::chunk(geometry, operation.kind, block));
  }
}

NativeWay way_of(const Geometry& geometry, const Operation& operation, std::uint64_t bytes, bool direct) {
  const bool is_flat = operation.kind != OpKind::send && native::Flat::fits(geometry, operation);
  const bool is_direct = direct && !is_flat && native::Direct::suits(geometry, operation);
  const std::string_view ordinary = is_flat ? "mailbox" : "rings";
  const std::uint64_t chunk = is_flat ? 0 : chunk_of(geometry, operation);
  return {.kind = operation.kind,
          .from_bytes = bytes,
          .to_bytes = bytes,
          .ordinary = ordinary,
          .reached = is_direct ? "direct" : ordinary,
          .shortest_chunk = chunk,
          .longest_chunk = chunk};
}

}  // namespace

NativeInfo native_info(int ranks, const Config& config) {
  if (ranks < 2) {
    throw Error(ErrorCode::invalid_argument, "native_info: " + std::to_string(ranks) + " ranks, at least 2 are needed",
                "native");
  }
  (void)unprobed_backends(config);  // makes the settings of the engine known
  const Geometry geometry = native::geometry_for(config, ranks);
  NativeInfo info;
  info.ranks = ranks;
  info.ring_bytes = std::uint64_t{geometry.pair.depth} * geometry.pair.unit;
  info.past_caches_above = native::cache_sizes().streaming_from(ranks);
  info.direct = config.flag("TUTTI_NATIVE_DIRECT");
  for (const OpKind kind : kShown) {
    bool is_first = true;
    for (unsigned power = kSmallest; power <= kLargest; ++power) {
      const std::uint64_t bytes = std::uint64_t{1} << power;
      const NativeWay way = way_of(geometry, operation_of(kind, bytes, ranks), bytes, info.direct);
      NativeWay* last = is_first ? nullptr : &info.ways.back();
      is_first = false;
      if (last == nullptr || last->ordinary != way.ordinary || last->reached != way.reached) {
        info.ways.push_back(way);
        continue;
      }
      last->to_bytes = bytes;
      last->shortest_chunk = std::min(last->shortest_chunk, way.shortest_chunk);
      last->longest_chunk = std::max(last->longest_chunk, way.longest_chunk);
    }
  }
  native::MoveTimes times = native::probe_moves(geometry.pair);
  info.moves = std::move(times.moves);
  info.steady = times.steady;
  return info;
}

}  // namespace tutti
