#include "select/composite/auto_backend.hpp"

#include <utility>
#include <vector>

#include "select/ownership.hpp"
#include "tuning/composing_communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/composite.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti {
namespace {

class AutoCommunicator final : public spi::CompositeCommunicator {
 public:
  AutoCommunicator(std::shared_ptr<const TuningPlan> plan, const spi::Capabilities& capabilities,
                   spi::BackendCommunicator& base, std::unique_ptr<spi::BackendCommunicator> first,
                   std::vector<LateLeaf> later, const Rendezvous& rendezvous)
      : CompositeCommunicator(capabilities, std::move(first), std::move(later), rendezvous),
        plan_(std::move(plan)),
        base_(base) {}

  [[nodiscard]] spi::BackendCommunicator& base() const noexcept { return base_; }

 private:
  void do_run(const Operation& operation) override { run_on(plan_->leaf_of(operation), operation); }
  [[nodiscard]] std::size_t choose(const Operation& operation) const noexcept override {
    return plan_->leaf_of(operation);
  }

  std::shared_ptr<const TuningPlan> plan_;
  spi::BackendCommunicator& base_;  ///< the first leaf, or what that stands on
};

/// The parts of a CreateContext that a leaf needs when it is created later.
struct LaterContext {
  Config config;
  spi::Peers peers;
  spi::CallProgress* progress;
};

/// The communicator as a leaf: with the compositions that the plan has for it.
std::unique_ptr<spi::BackendCommunicator> as_leaf(const std::shared_ptr<const TuningPlan>& plan, std::size_t index,
                                                  std::unique_ptr<spi::BackendCommunicator> made,
                                                  const spi::Peers& peers) {
  if (!plan->composes(index)) return made;
  auto leaf = std::make_unique<ComposingCommunicator>(plan, std::move(made), peers.rank, peers.size);
  spi::Ownership::appear_as(*leaf, leaf->inner());
  return leaf;
}

std::unique_ptr<spi::BackendCommunicator> create_without_plan(const spi::CreateContext&) {
  throw Error(ErrorCode::invalid_usage, "auto stands below no other backend", "auto");
}

spi::Probe probe(const spi::ProbeContext&) { return {.reason = "auto chooses among the other backends"}; }

}  // namespace

const spi::BackendModule kAutoModule = {.name = "auto",
                                        .variant = {},
                                        .description = "routes each operation to the backend that is the fastest",
                                        .probe = probe,
                                        .create = create_without_plan};

spi::BackendCommunicator* base_of(spi::BackendCommunicator* communicator) noexcept {
  if (communicator == nullptr || communicator->module() != &kAutoModule) return communicator;
  return &static_cast<AutoCommunicator*>(communicator)->base();
}

std::unique_ptr<spi::BackendCommunicator> create_auto(std::shared_ptr<const TuningPlan> plan,
                                                      const spi::CreateContext& context) {
  const std::vector<PlanCandidate>& leaves = plan->leaves();
  spi::CreateContext inner = context;
  inner.parent = base_of(context.parent);
  std::unique_ptr<spi::BackendCommunicator> base = spi::create_backend(leaves.front().spec, inner);
  const auto later_context =
      std::make_shared<const LaterContext>(LaterContext{context.config, context.peers, context.progress});
  std::vector<spi::CompositeCommunicator::LateLeaf> later;
  for (std::size_t index = 1; index < leaves.size(); ++index) {
    const PlanCandidate& leaf = leaves[index];
    later.push_back({.name = leaf.spec,
                     .module = leaf.module,
                     .capabilities = leaf.capabilities,
                     .create = [spec = leaf.spec, later_context, plan, index](const Rendezvous& rendezvous) {
                       auto made = spi::create_backend(spec, {.config = later_context->config,
                                                              .rendezvous = rendezvous,
                                                              .peers = later_context->peers,
                                                              .progress = later_context->progress});
                       return as_leaf(plan, index, std::move(made), later_context->peers);
                     }});
  }
  const spi::Capabilities capabilities = base->capabilities();
  spi::BackendCommunicator& unwrapped = *base;
  auto first = as_leaf(plan, 0, std::move(base), context.peers);
  return std::make_unique<AutoCommunicator>(std::move(plan), capabilities, unwrapped, std::move(first),
                                            std::move(later), context.rendezvous);
}

}  // namespace tutti
