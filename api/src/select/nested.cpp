#include "tutti/spi/nested.hpp"

#include <algorithm>

#include "select/candidates.hpp"
#include "select/selection.hpp"

namespace tutti::spi {

namespace {

BackendSpec inner_spec(std::string_view text) { return parse_backend_spec(text.empty() ? kAuto : text); }

}  // namespace

Probe probe_backend(std::string_view spec, const ProbeContext& context) {
  return probe_spec(inner_spec(spec), context.peers, context.config);
}

std::unique_ptr<BackendCommunicator> create_backend(std::string_view spec, const CreateContext& context) {
  if (context.parent != nullptr) return create({.module = context.parent->module()}, context);
  return create(select(context.rendezvous, context.peers, context.config, inner_spec(spec)), context);
}

Peers subset(const Peers& peers, std::span<const int> members) {
  Peers some;
  some.size = static_cast<int>(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto rank = static_cast<std::size_t>(members[i]);
    if (members[i] == peers.rank) some.rank = static_cast<int>(i);
    some.hosts.push_back(peers.hosts[rank]);
    some.pids.push_back(peers.pids[rank]);
    if (rank < peers.numa_nodes.size()) some.numa_nodes.push_back(peers.numa_nodes[rank]);
  }
  const auto self = static_cast<std::size_t>(some.rank);
  some.same_host = std::ranges::all_of(some.hosts, [&](const auto& host) { return host == some.hosts.front(); });
  some.same_process =
      some.same_host && std::ranges::all_of(some.pids, [&](std::int64_t pid) { return pid == some.pids[self]; });
  return some;
}

std::optional<std::uint64_t> common_bytes(const Operation& operation, int ranks) noexcept {
  if (is_vector(operation.kind) && !has_common_counts(operation.kind)) return std::nullopt;
  return message_bytes(operation, ranks);
}

}  // namespace tutti::spi
