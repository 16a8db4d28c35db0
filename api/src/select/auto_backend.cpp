#include "select/auto_backend.hpp"

#include <utility>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/composite.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti {
namespace {

class AutoCommunicator final : public spi::CompositeCommunicator {
 public:
  AutoCommunicator(std::shared_ptr<const TuningPlan> plan, const spi::Capabilities& capabilities,
                   std::unique_ptr<spi::BackendCommunicator> base, std::vector<LateLeaf> later,
                   const Rendezvous& rendezvous)
      : CompositeCommunicator(capabilities, std::move(base), std::move(later), rendezvous), plan_(std::move(plan)) {}

 private:
  void do_run(const Operation& operation) override { run_on(plan_->leaf_of(operation), operation); }
  [[nodiscard]] std::size_t choose(const Operation& operation) const noexcept override {
    return plan_->leaf_of(operation);
  }

  std::shared_ptr<const TuningPlan> plan_;
};

/// The parts of a CreateContext that a leaf needs when it is created later.
struct LaterContext {
  Config config;
  spi::Peers peers;
  spi::CallProgress* progress;
};

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
  return &static_cast<AutoCommunicator*>(communicator)->leaf(0);
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
                     .create = [spec = leaf.spec, later_context](const Rendezvous& rendezvous) {
                       return spi::create_backend(spec, {.config = later_context->config,
                                                         .rendezvous = rendezvous,
                                                         .peers = later_context->peers,
                                                         .progress = later_context->progress});
                     }});
  }
  const spi::Capabilities capabilities = base->capabilities();
  return std::make_unique<AutoCommunicator>(std::move(plan), capabilities, std::move(base), std::move(later),
                                            context.rendezvous);
}

}  // namespace tutti
