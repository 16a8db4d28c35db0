#include "topo_job.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "topo_json.hpp"

namespace tutti::tools {
namespace {

/// The texts of all ranks, on all ranks.
std::vector<std::string> gather_texts(const Communicator& comm, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(ranks);
  comm.allgather(ConstBuffer(&length, 1, DataType::uint64), Buffer(lengths.data(), ranks, DataType::uint64));
  std::uint64_t total = 0;
  for (const std::uint64_t one : lengths) total += one;
  std::string all(total, '\0');
  comm.allgatherv(ConstBuffer(mine.data(), length, DataType::uint8), Buffer(all.data(), total, DataType::uint8),
                  {.counts = lengths});
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::uint64_t one : lengths) {
    texts.push_back(all.substr(begin, one));
    begin += one;
  }
  return texts;
}

}  // namespace

std::vector<HostMap> gather_maps(const Communicator& comm, const HostMap& here) {
  const Placement placement = comm.placement();
  std::vector<MapRank> ranks;
  for (const std::string& text : gather_texts(comm, encode(make_rank(here, comm.rank(), 0, placement)))) {
    MapRank rank = decode_rank(text);
    const auto is_neighbour = [&](const MapRank& other) { return other.host == rank.host; };
    rank.local_rank = static_cast<int>(std::ranges::count_if(ranks, is_neighbour));
    ranks.push_back(std::move(rank));
  }
  const bool is_first = ranks[static_cast<std::size_t>(comm.rank())].local_rank == 0;
  std::vector<HostMap> maps;
  for (const std::string& text : gather_texts(comm, is_first ? encode(here) : std::string())) {
    if (text.empty()) continue;
    maps.push_back(decode_map(text));
    for (const MapRank& rank : ranks) {
      if (rank.host == maps.back().host) maps.back().ranks.push_back(rank);
    }
  }
  return maps;
}

}  // namespace tutti::tools
