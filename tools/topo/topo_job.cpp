#include "topo/topo_job.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "topo/topo_json.hpp"
#include "topo/topo_merge.hpp"

namespace tutti::tools {
namespace {

/// Gathers the texts of all ranks on every rank.
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

std::vector<HostMap> gather_maps(const Communicator& comm, HostMap here, const HostTree& tree) {
  const std::vector<std::string> hosts = gather_texts(comm, here.host);
  const auto first = static_cast<int>(std::ranges::find(hosts, here.host) - hosts.begin());
  const Communicator neighbours = comm.split(first, comm.rank(), "topo on one host");
  here.ranks = {make_rank(here, comm.rank(), neighbours.rank(), comm.placement())};
  std::vector<HostMap> seen;
  for (const std::string& text : gather_texts(neighbours, encode(here))) seen.push_back(decode_map(text));
  std::vector<HostMap> maps;
  for (const std::string& text :
       gather_texts(comm, neighbours.rank() == 0 ? encode(merge_maps(seen, tree)) : std::string())) {
    if (!text.empty()) maps.push_back(decode_map(text));
  }
  return maps;
}

}  // namespace tutti::tools
