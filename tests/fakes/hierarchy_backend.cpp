// A backend of two levels, as `fake_hierarchy:SPEC`: the native engine within each host, SPEC between the first ranks
// of the hosts. Only allreduce and barrier; it shows that backends can stand on subsets of the ranks.
#include <algorithm>
#include <string>
#include <vector>

#include "tutti/spi/nested.hpp"

namespace tutti::test {
namespace {

constexpr std::string_view kInside = "native";

/// Ranks on the host of this rank, and the first rank of every host.
struct Levels {
  std::vector<int> inside;
  std::vector<int> leaders;
};

Levels levels_of(const spi::Peers& peers) {
  Levels levels;
  const auto& mine = peers.hosts[static_cast<std::size_t>(peers.rank)];
  for (int rank = 0; rank < peers.size; ++rank) {
    const auto host = peers.hosts.begin() + rank;
    if (*host == mine) levels.inside.push_back(rank);
    if (std::find(peers.hosts.begin(), host, *host) == host) levels.leaders.push_back(rank);
  }
  return levels;
}

/// An operation that completed before it was returned.
class Complete final : public spi::PendingOperation {
  bool do_poll() override { return true; }
  bool do_wait(spi::Deadline) override { return true; }
};

class Hierarchy final : public spi::BackendCommunicator {
 public:
  Hierarchy(std::unique_ptr<spi::BackendCommunicator> inside, std::unique_ptr<spi::BackendCommunicator> between)
      : BackendCommunicator(capabilities_of(*inside)), inside_(std::move(inside)), between_(std::move(between)) {}

 private:
  // The same on all ranks: those that are not leaders do not know the other level.
  static spi::Capabilities capabilities_of(const spi::BackendCommunicator& inside) {
    spi::Capabilities has = inside.capabilities();
    for (const OpTraits& row : kOpTraits) has.remove(row.kind);
    return has.add(OpKind::allreduce).add(OpKind::barrier);
  }

  void do_run(const Operation& operation) override {
    Operation up = operation;
    if (operation.kind == OpKind::allreduce) up.kind = OpKind::reduce;
    up.root = 0;
    inside_->run(up);
    if (between_ != nullptr) {
      Operation across = operation;
      across.input = operation.output;
      between_->run(across);
    }
    Operation down = operation;
    if (operation.kind == OpKind::allreduce) down.kind = OpKind::broadcast;
    down.input = operation.output;
    down.root = 0;
    inside_->run(down);
  }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    do_run(operation);
    return std::make_unique<Complete>();
  }
  void do_abort() noexcept override {
    inside_->abort();
    if (between_ != nullptr) between_->abort();
  }

  std::unique_ptr<spi::BackendCommunicator> inside_;
  std::unique_ptr<spi::BackendCommunicator> between_;  ///< null on ranks that are not the first of their host
};

spi::Probe probe(const spi::ProbeContext& context) {
  if (context.peers == nullptr) return spi::probe_backend(kInside, context);
  const Levels levels = levels_of(*context.peers);
  const spi::Peers inside = spi::subset(*context.peers, levels.inside);
  spi::ProbeContext level = context;
  level.peers = &inside;
  spi::Probe result = spi::probe_backend(kInside, level);
  result.preference = -1000;
  if (!result.usable || inside.rank != 0) return result;
  const spi::Peers between = spi::subset(*context.peers, levels.leaders);
  level.peers = &between;
  const spi::Probe outer = spi::probe_backend(context.rest, level);
  result.usable = outer.usable;
  result.reason = outer.reason;
  return result;
}

std::unique_ptr<spi::BackendCommunicator> create_level(std::string_view spec, const spi::CreateContext& context,
                                                       const std::vector<int>& members, std::string_view scope) {
  const Rendezvous rendezvous = context.rendezvous.subset(members, scope);
  const spi::Peers peers = spi::subset(context.peers, members);
  return spi::create_backend(spec, {.config = context.config, .rendezvous = rendezvous, .peers = peers});
}

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  const Levels levels = levels_of(context.peers);
  auto inside = create_level(kInside, context, levels.inside, "inside");
  std::unique_ptr<spi::BackendCommunicator> between;
  if (levels.inside.front() == context.peers.rank) {
    between = create_level(context.rest, context, levels.leaders, "between");
  }
  return std::make_unique<Hierarchy>(std::move(inside), std::move(between));
}

constexpr spi::BackendModule kModule = {.name = "fake_hierarchy",
                                        .variant = {},
                                        .description = "fake of two levels: native within a host, another between",
                                        .nests = true,
                                        .probe = probe,
                                        .create = create};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::test::kModule; }
